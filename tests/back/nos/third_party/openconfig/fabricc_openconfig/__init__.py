"""OpenConfig JSON (RFC 7951) for a gNMI Set: a back end that does not come with fabricc."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import THIRD_PARTY, Gap
from fabricc.fabric.facts import Reading
from fabricc_openconfig.facts import planned_facts
from fabricc_openconfig.read import read_document
from fabricc_openconfig.write import make_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

FILE = "openconfig.json"


class OpenConfig:
    """See `fabricc.back.nos.base.Nos` for what each method promises."""

    name = "openconfig"
    releases: tuple[str, ...] = ("2024",)
    default_release = "2024"

    def supports(self, model: SwitchModel) -> bool:
        """Every model of the catalog that runs an operating system of one's own."""
        return model.asic_family == "linux"

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """`Ethernet<cage>`, with `/<child>` for the children of a breakout."""
        return f"Ethernet{cage}" if children == 1 else f"Ethernet{cage}/{child}"

    def gaps(self, switch: Switch) -> list[Gap]:
        """Queues have no agreed configuration in the models used here; links are IPv4 and numbered."""
        found = []
        if switch.qos.lossless:
            reason = "openconfig-qos has no PFC and no headroom"
            found.append(
                Gap(THIRD_PARTY, "a lossless class", reason, "choose another NOS for these switches")
            )
        if switch.bgp.ipv6 or any(port.unnumbered for port in switch.ports):
            reason = "this back end writes numbered IPv4 alone"
            found.append(Gap(THIRD_PARTY, "IPv6 or unnumbered links", reason, "use numbered IPv4 links"))
        return found

    def render(self, switch: Switch) -> dict[str, str]:
        """The switch's one file."""
        return {FILE: make_document(switch)}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of the file, with the line of each; what it does not know is listed."""
        reading = Reading()
        if FILE in files:
            read_document(files[FILE], FILE, reading)
        return reading

    def planned(self, switch: Switch) -> Facts:
        """Return what `read(render(switch))` has to be."""
        return planned_facts(switch)


OPENCONFIG = OpenConfig()
