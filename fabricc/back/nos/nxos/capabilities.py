"""What each release does on each ASIC family, with the source of every entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.vocabulary import CLOUDSCALE, SILICON_ONE, family
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.model import Switch


@dataclass(frozen=True, slots=True)
class Capability:
    """The first release that has a feature, by ASIC family; None where no release is known to have it."""

    first: Mapping[str, str | None]
    source: str


MODEL = Capability({CLOUDSCALE: "10.3", SILICON_ONE: "10.5"}, "pyATS genie.libs.conf 26.9")
DYNAMIC_LOAD_BALANCING = Capability(
    {CLOUDSCALE: "10.5", SILICON_ONE: None},
    "Nexus 9000 unicast routing guide 10.5, dynamic load balancing: 9300-FX3, GX and GX2 from 10.5(1)F; "
    "9364E-SG2 has the policy-driven mode only",
)


def has(switch: Switch, capability: Capability) -> bool:
    """Whether the switch's release has it on the switch's ASIC; a switch without a release has the newest."""
    first = capability.first[family(switch)]
    return first is not None and (not switch.release or version(switch.release) >= version(first))


def version(release: str) -> tuple[int, ...]:
    """A release such as `10.4` as numbers, for comparing."""
    return tuple(int(part) for part in release.split("."))
