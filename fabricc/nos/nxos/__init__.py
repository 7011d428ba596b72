"""Cisco NX-OS: the running configuration of a Nexus 9000 switch, written and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.nxos.gaps import gaps
from fabricc.nos.nxos.naming import port_name
from fabricc.nos.nxos.planned import planned
from fabricc.nos.nxos.reading import read
from fabricc.nos.nxos.view import switch_view
from fabricc.nos.templating import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Switch
    from fabricc.nos.base import Gap

FILE = "running-config.cfg"


class NxOs:
    """The NX-OS back end; see `fabricc.nos.base.Nos` for what each method promises."""

    name = "nxos"
    releases = ("10.3", "10.4", "10.5", "10.6")
    default_release = "10.4"

    def supports(self, model: SwitchModel) -> bool:
        """Whether the catalog has NX-OS settings for the model."""
        return self.name in model.nos

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """`Ethernet1/<cage>`, and `Ethernet1/<cage>/<child>` of a split cage; see `naming.port_name`."""
        return port_name(model, cage, child, children)

    def gaps(self, switch: Switch) -> list[Gap]:
        """Findings FAB5401 to FAB5417."""
        return gaps(switch)

    def render(self, switch: Switch) -> dict[str, str]:
        """The whole configuration in the order in which a device prints it.

        Raises:
            jinja2.TemplateError: a user's template is at fault; the built-in ones do not raise.
        """
        template = environment(self.name).get_template("running-config.j2")
        return {FILE: template.render(switch=switch_view(switch))}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of a rendered or running configuration."""
        return read(files)

    def planned(self, switch: Switch) -> Facts:
        """The facts of the switch as NX-OS can hold them."""
        return planned(switch)


NXOS = NxOs()
