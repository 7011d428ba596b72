"""The fabrics that are compiled: rails of 400 Gb/s under 64-port 800G switches, two or three tiers, one system each."""

from __future__ import annotations

from dataclasses import dataclass

GPUS_PER_HOST = 8
HOSTS_PER_UNIT = 64
TWO_TIERS = 4096  # GPUs that one tier of spines joins with these switches

SYSTEMS = {
    "eos": ("7060x6-64pe", "eos"),
    "sonic": ("sn5600", "sonic-202505"),
    "cumulus": ("sn5600", "cumulus-5.14"),
    "nxos": ("9364e-sg2", "nxos"),
    "junos": ("qfx5240-64od", "junos"),
}
"""Name -> switch model and system."""

ASIDE = {
    "nxos": "cables: {spine: {length_m: 100}, core: {length_m: 100}}\n",
    "junos": 'accept: [{code: FAB5510, reason: "What is timed is the text; no switch loads it."}]\n',
}
"""Further settings of a fabric whose system publishes no buffers for its cables."""

MILLION = """\
cluster: million
gpus: {model: hgx-2x200, hosts: 131072, hosts_per_unit: 128}
planes: 2
tors: {model: 7060x6-64pe, nos: eos, uplink_gbps: 200}
spines: {model: 7060x6-64pe, nos: eos, uplink_gbps: 200}
cores: {model: 7060x6-64pe, nos: eos}
addressing: {family: ipv6}
"""
"""1,048,576 GPUs: NICs of two ports of 200 Gb/s in two planes, three tiers, 40,960 switches."""

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample bench@example"


@dataclass(frozen=True, slots=True)
class Fabric:
    """A fabric by its number of GPUs and its switches' system."""

    gpus: int
    system: str = "eos"

    @property
    def hosts(self) -> int:
        """Hosts of eight GPUs."""
        return self.gpus // GPUS_PER_HOST

    @property
    def ports(self) -> int:
        """Switch ports in use, non-blocking: two of each link, and host links at 400 Gb/s against 800 above."""
        tiers = 2 if self.gpus > TWO_TIERS else 1
        return self.gpus + tiers * self.gpus

    def spec(self, override: str = "") -> str:
        """The text of the spec; `override` is the name of a switch to drain."""
        model, nos = SYSTEMS[self.system]
        switch = f"{{model: {model}, nos: {nos}}}"
        cores = f"cores: {switch}\n" if self.gpus > TWO_TIERS else ""
        change = f"overrides: {{{override}: {{drain: true}}}}\n" if override else ""
        return f"""\
cluster: bench
gpus: {{model: dgx-h100, hosts: {self.hosts}, hosts_per_unit: {min(HOSTS_PER_UNIT, self.hosts)}}}
tors: {switch}
spines: {switch}
{cores}{ASIDE.get(self.system, "")}priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
management:
  network: 172.16.0.0/12
  users: [{{name: netops, ssh_key: "{KEY}"}}]
{change}"""
