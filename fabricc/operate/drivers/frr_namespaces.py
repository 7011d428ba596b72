"""Apply an `interfaces` file on a switch whose VRFs are network namespaces, as ifupdown2 does with VRF devices.

The driver sends this file to the switch's Python (3.9 or later), as it does `frr_agent`. Ports go to the namespaces of
their VRFs, and each VRF with a VNI has a VXLAN device and a bridge. Namespaces themselves are not made here.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMESPACES = Path("/run/netns")
DEVICES = ("br", "vni")
"""First letters of the names of the devices that carry the VNI of a VRF."""
VXLAN_PORT = 4789  # RFC 7348 section 5
NOTICE_S = 20.0


def parse_interfaces(text: str) -> dict[str, dict[str, str]]:
    """Return the attributes of each interface of a file; the last value of one that is there twice."""
    found: dict[str, dict[str, str]] = {}
    attributes: dict[str, str] = {}
    for words in map(str.split, text.splitlines()):
        if len(words) > 1 and words[0] == "iface":
            attributes = found.setdefault(words[1], {})
        elif len(words) > 1 and not words[0].startswith("#"):
            attributes[words[0]] = " ".join(words[1:])
    return found


def plan_tunnels(stated: dict[str, dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Return VNI, MTU, source and MAC address of the tunnels of each VRF: its VLAN leads to its VXLAN device."""
    vlans = {one["vlan-id"]: one for one in stated.values() if "vlan-id" in one and "vrf" in one}
    found: dict[str, list[dict[str, str]]] = {}
    for one in stated.values():
        vlan = vlans.get(one.get("bridge-access", ""))
        if vlan and "vxlan-id" in one:
            tunnel = {"vni": one["vxlan-id"], "mtu": one["mtu"], "source": one["vxlan-local-tunnelip"]}
            found.setdefault(vlan["vrf"], []).append({**tunnel, "mac": vlan["hwaddress"]})
    return found


def plan_ports(stated: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the VRF of each port, "" for the default VRF; VLANs, bridges and VRFs are no ports."""
    made = ("vlan-id", "vxlan-id", "bridge-ports", "vrf-table")
    return {name: one.get("vrf", "") for name, one in stated.items() if not any(key in one for key in made)}


def run(words: list[str], namespace: str = "") -> str:
    """Return the output of a program in the namespace of a VRF.

    Raises:
        SystemExit: it fails; the text is its own.
    """
    inside = [f"--net={NAMESPACES / namespace}"] if namespace else []
    done = subprocess.run(
        ["nsenter", *inside, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(f"error: {' '.join(words)}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout.decode("utf-8", "replace")


def links(namespace: str = "") -> set[str]:
    """Return the interfaces of a namespace."""
    answer: list[dict[str, Any]] = json.loads(run(["ip", "-j", "link", "show"], namespace) or "[]")
    return {link["ifname"] for link in answer}


def remove_tunnels(vrf: str, had: set[str], tunnels: list[dict[str, str]]) -> None:
    """Remove the devices of VNIs that a VRF no longer has: FRR removes no VRF whose VNI is up."""
    wanted = {f"{kind}{tunnel['vni']}" for tunnel in tunnels for kind in DEVICES}
    for name in sorted(name for name in had - wanted if name.startswith(DEVICES)):
        run(["ip", "link", "del", name], vrf)


def add_tunnel(vrf: str, tunnel: dict[str, str]) -> None:
    """Add the VXLAN device of a VRF, whose outer packets stay in the default VRF, and its bridge."""
    device, bridge, mtu = f"vni{tunnel['vni']}", f"br{tunnel['vni']}", tunnel["mtu"]
    options = f"id {tunnel['vni']} local {tunnel['source']} dstport {VXLAN_PORT} nolearning tos inherit"
    place = f"netns {NAMESPACES / vrf}"
    run(f"ip link add {place} name {device} mtu {mtu} type vxlan {options}".split())
    for line in (
        f"link add {bridge} address {tunnel['mac']} type bridge",
        f"link set {bridge} mtu {mtu} addrgenmode none up",
        f"link set {device} master {bridge} addrgenmode none up",
    ):
        run(["ip", *line.split()], vrf)


def wait_for_zebra(vrf: str, tunnels: list[dict[str, str]]) -> None:
    """Wait until zebra knows the devices of a VRF: a VNI comes up only if it does before it reads the VRF's lines.

    Raises:
        SystemExit: it does not notice them.
    """
    wanted = {f"{kind}{tunnel['vni']}" for tunnel in tunnels for kind in DEVICES}
    until = time.monotonic() + NOTICE_S
    while time.monotonic() < until:
        with contextlib.suppress(ValueError):  # zebra does not know the VRF yet
            if wanted <= set(
                json.loads(run(["vtysh", "-c", f"show interface vrf {vrf} brief json"]) or "{}")
            ):
                return
        time.sleep(0.1)
    sys.exit(f"error: zebra does not notice the devices of VRF {vrf}")


def move_port(name: str, source: str, vrf: str, attributes: dict[str, str]) -> None:
    """Move a port to the namespace of its VRF and bring it up; an empty name is that of the default VRF."""
    run(["ip", "link", "set", name, "netns", str(NAMESPACES / vrf) if vrf else "1"], source)
    if "mtu" in attributes:
        run(["ip", "link", "set", name, "mtu", attributes["mtu"]], vrf)
    if "link-down" not in attributes:
        run(["ip", "link", "set", name, "up"], vrf)


def main(path: str, step: str) -> None:
    """Bring the `tunnels` of the VRFs of this switch to the state of a file, or its `ports`.

    FRR needs the tunnels before it has the lines of a VRF, and takes the lines of a port away only while it is there.

    Raises:
        SystemExit: a VRF has no namespace, or a program fails.
    """
    stated = parse_interfaces(Path(path).read_text("utf-8"))
    vrfs = sorted(place.name for place in NAMESPACES.glob("*"))
    tunnels, ports = plan_tunnels(stated), plan_ports(stated)
    if missing := sorted({*tunnels, *ports.values()} - {"", *vrfs}):
        sys.exit(f"error: VRF {missing[0]} has no network namespace on this switch")
    if step == "ports":
        places = {name: vrf for vrf in ("", *vrfs) for name in links(vrf)}
        for name, vrf in ports.items():
            if name != "lo" and places.get(name, vrf) != vrf:
                move_port(name, places[name], vrf, stated[name])
        return
    for vrf in vrfs:
        had = links(vrf)
        remove_tunnels(vrf, had, tunnels.get(vrf, []))
        new = [tunnel for tunnel in tunnels.get(vrf, []) if f"vni{tunnel['vni']}" not in had]
        for tunnel in new:
            add_tunnel(vrf, tunnel)
        if new:
            wait_for_zebra(vrf, new)


if __name__ == "__main__":
    main(*sys.argv[1:])
