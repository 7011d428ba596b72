"""What systems do where their configuration states nothing, as far as rules over foreign switches depend on it."""

from __future__ import annotations

_CLASSIFIES = frozenset({"eos"})
"""Systems whose routed ports classify by DSCP without a statement (EOS user manual, "Quality of Service")."""

_ONE_PATH = frozenset({"eos", "nxos"})
"""Systems whose BGP installs one path without a statement (EOS and NX-OS command references: `maximum-paths`)."""

_ROUTED_MTU = {"eos": 1500, "nxos": 1500, "junos": 1500, "frr": 1500, "cumulus": 9216, "sonic": 9100}
"""IP MTU of a routed port that states none (EOS, NX-OS and Cumulus Linux user guides, Junos "Media MTU Sizes by
Interface Type", Linux `ether_setup`, SONiC `sonic-port.yang`).
"""


def default_mtu(system: str) -> int | None:
    """Return the IP MTU of a routed port without a statement, None where it is not known."""
    return _ROUTED_MTU.get(system)


def classifies_unstated(system: str) -> bool:
    """Whether a routed port of a system puts packets into classes by their code points without a statement."""
    return system in _CLASSIFIES


def uses_one_path_unstated(system: str) -> bool:
    """Whether BGP of a system installs one path where no number of equal paths is stated."""
    return system in _ONE_PATH


def states_pfc(system: str) -> bool:
    """Whether the files of a system state PFC; those of FRR on Linux leave it to the NIC's driver."""
    return system != "frr"


def hashes_addresses_alone(path: str, value: object) -> bool:
    """Whether a fact states that equal paths are chosen without the ports of UDP and TCP."""
    text = str(value)
    if path == "platform/load_sharing":
        return "source-destination" in text and " port " not in text
    if path == "table[SWITCH_HASH|GLOBAL ecmp_hash]":
        return "L4_" not in text
    return path in _KERNEL_HASH and text == "0"


_KERNEL_HASH = ("kernel[net.ipv4.fib_multipath_hash_policy]", "kernel[net.ipv6.fib_multipath_hash_policy]")
"""Linux: 0 hashes addresses alone (Documentation/networking/ip-sysctl.rst)."""
