"""The Cumulus Linux back end: NVUE's `startup.yaml`, releases 5.9 to 5.15."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import document, naming
from fabricc.back.nos.cumulus.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.cumulus.planned import planned_facts
from fabricc.back.nos.cumulus.reader import read_startup
from fabricc.fabric.facts import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.gap import Gap
    from fabricc.fabric.model import Switch


class Cumulus:
    """NVIDIA Cumulus Linux; see `fabricc.back.nos.base.Nos`."""

    name = "cumulus"
    releases = tuple(RELEASES)
    default_release = DEFAULT_RELEASE

    def supports(self, model: SwitchModel) -> bool:
        """Whether the catalog has Cumulus settings for the model."""
        return self.name in model.nos

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """`swp<cage>`, with `s<child>` from 0 for the children of a breakout."""
        return naming.port_name(model, cage, child, children)

    def gaps(self, switch: Switch) -> list[Gap]:
        """What the switch's release cannot express; codes FAB5701 to FAB5724."""
        return gaps(switch)

    def render(self, switch: Switch) -> dict[str, str]:
        """`startup.yaml` for `nv config replace`."""
        return {document.FILE: document.render(switch)}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of a rendered `startup.yaml`, or of what a switch prints."""
        reading = Reading()
        if document.FILE in files:
            read_startup(files[document.FILE], document.FILE, reading)
        return reading

    def planned(self, switch: Switch) -> Facts:
        """The facts of the switch as NVUE can hold them; see docs/nos-cumulus.md."""
        return planned_facts(switch)


CUMULUS = Cumulus()
