"""Arista EOS: the complete running configuration of a switch, written and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.eos.gaps import gaps
from fabricc.nos.eos.naming import port_name
from fabricc.nos.eos.planned import planned
from fabricc.nos.eos.reading import read
from fabricc.nos.eos.view import switch_view
from fabricc.nos.templating import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Switch
    from fabricc.nos.base import Gap

FILE = "running-config.cfg"


class Eos:
    """The EOS back end; see `fabricc.nos.base.Nos` for what each method promises."""

    name = "eos"
    releases = ("4.30", "4.31", "4.32", "4.33")
    default_release = "4.32"

    def supports(self, model: SwitchModel) -> bool:
        """Whether the catalog has EOS settings for the model."""
        return self.name in model.nos

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """`Ethernet<cage>/<lane>`; see `naming.port_name`."""
        return port_name(model, cage, child, children)

    def gaps(self, switch: Switch) -> list[Gap]:
        """Findings FAB5101 to FAB5116."""
        return gaps(switch)

    def render(self, switch: Switch) -> dict[str, str]:
        """The whole running configuration, as loaded with `configure replace`.

        Raises:
            jinja2.TemplateError: a user's template is at fault; the built-in ones do not raise.
        """
        template = environment(self.name).get_template("running-config.j2")
        return {FILE: template.render(switch=switch_view(switch))}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of a rendered or running configuration."""
        return read(files)

    def planned(self, switch: Switch) -> Facts:
        """The facts of the switch as EOS can hold them."""
        return planned(switch)


EOS = Eos()
