"""What systems do where their configuration states nothing, as far as rules over foreign switches depend on it."""

from __future__ import annotations

_CLASSIFIES = frozenset({"eos"})
"""Systems whose routed ports classify by DSCP without a statement (EOS user manual, "Quality of Service")."""

_ONE_PATH = frozenset({"eos", "nxos"})
"""Systems whose BGP installs one path without a statement (EOS and NX-OS command references: `maximum-paths`)."""


def classifies_unstated(system: str) -> bool:
    """Whether a routed port of a system puts packets into classes by their code points without a statement."""
    return system in _CLASSIFIES


def uses_one_path_unstated(system: str) -> bool:
    """Whether BGP of a system installs one path where no number of equal paths is stated."""
    return system in _ONE_PATH
