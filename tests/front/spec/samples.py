"""Specs that the tests of the front end start from."""

from __future__ import annotations

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.front.spec.load import Loaded, read_spec

SHORT = """\
cluster: zone-a
gpus:
  hosts: 128
  model: dgx-b200
  wiring: rail
  hosts_per_unit: 32
tors:
  model: sn5600
  nos: sonic-202505
  oversubscription: 1.0
spines:
  model: sn5600
  nos: sonic-202505
priorities:
  rdma:    {dscp: 26, lossless: true}
  cnp:     {dscp: 48, strict: true}
  default: {}
mtu:
  host: 9000
  switch: 9100
"""

FULL = """\
cluster: zone-a
fabric: roce
catalog: [switches/mine.yaml]
gpus:
  wiring: rack
  rails_per_tor: 0
  capacity: 64
  os: rhel-9
  groups:
    - {name: h100, model: dgx-h100, racks: {a02: [node3, node4], a01: 2}, hosts_per_rack: 2}
    - {name: b200, model: dgx-b200, hosts: [big1, big2, big3], hosts_per_unit: 2}
tors: {model: sn5600, nos: eos, oversubscription: 1.5, uplinks: 32, uplink_gbps: 400, reserved_ports: 2}
spines: {model: sn5600, nos: frr, count: 16, oversubscription: 7, uplinks: 28, uplink_gbps: 400, units_per_pod: 192}
cores: {model: sn5600, nos: sonic-202505, count: 4, reserved_ports: 1}
planes: 2
priorities:
  rdma: {dscp: [26, 24], lossless: true, priority: 3, weight_percent: 60, ecn: true}
  cnp: {dscp: 48, strict: true}
congestion: {profile: dcqcn, ecn: {min_kb: 400, max_kb: 1600, max_percent: 20},
             trimming: {class: cnp, size_bytes: 512}, link_retry: true}
buffers: {headroom_oversubscription: 2.5}
addressing: {family: dual, fabric_links: numbered, hosts: 10.0.0.0/10, hosts6: fd00:1::/48}
routing: {asn_base: 4200000000, spine_asn: unique, keepalive_s: 1, hold_s: 3, bfd: false, ttl_security: true}
load_balancing: {mode: flowlet, queue_pairs: true, flowlet_idle_us: 128}
cables: {host: {medium: dac, length_m: 2}, spine: {medium: smf, length_m: 40}}
management:
  network: 172.20.0.0/16
  gateway: 172.20.0.254
  ntp: [172.20.0.2, time.example.net]
  dns: [172.20.0.3]
  syslog: [fd00:9::1]
  syslog_tls: {ca: logs, port: 6515}
  access: [172.20.9.0/24]
  banner: Authorized use only.
  ntp_authentication: {key_id: 7, type: md5, key: {secret: ntp}}
  tacacs: {servers: [172.20.0.6, 172.20.0.5], key: {secret: tacacs}}
  snmp:
    {community: {secret: ro-snmp}, location: hall-3,
     users: [{name: monitor, auth: {secret: snmp-auth}, privacy: {secret: snmp-privacy}}],
     traps: {servers: [172.20.0.6], user: monitor}}
  telemetry: {gnmi_port: 50051}
  lldp: {interval_s: 10}
  users: [{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample netops@example"}]
mtu: {host: 4200, switch: 9214}
overrides: {tor-a01: {nos: sonic-202411, drain: true, cable_m: 20, ports: {Ethernet8: {cable_m: 9, medium: smf}}}}
accept: [{code: FAB2051, reason: "old filers in this zone"}]
"""


def load(text: str | bytes) -> Loaded:
    """The spec in `text`, called `cluster.yaml`."""
    return read_spec(text if isinstance(text, bytes) else text.encode(), "cluster.yaml")


def format_findings(text: str | bytes) -> list[str]:
    """Each finding as `line:column CODE message | help`."""
    return [format_line(each) for each in load(text).diagnostics]


def format_line(each: Diagnostic) -> str:
    """A finding on one line."""
    assert each.position is not None
    mark = "" if each.severity is Severity.ERROR else f" {each.severity}"
    return f"{each.position.line}:{each.position.column} {each.code}{mark} {each.message} | {each.help}"
