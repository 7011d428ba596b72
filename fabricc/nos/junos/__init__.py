"""Juniper Junos OS and Junos OS Evolved: the complete configuration of a switch, written and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.junos.gaps import gaps
from fabricc.nos.junos.naming import port_name
from fabricc.nos.junos.planned import planned
from fabricc.nos.junos.reading import read
from fabricc.nos.junos.view import switch_view
from fabricc.nos.templating import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Switch
    from fabricc.nos.base import Gap

FILE = "juniper.conf"


class Junos:
    """The Junos back end; see `fabricc.nos.base.Nos` for what each method promises."""

    name = "junos"
    releases = ("23.4", "24.2", "24.4")
    default_release = "24.4"

    def supports(self, model: SwitchModel) -> bool:
        """Whether the catalog has Junos settings for the model."""
        return self.name in model.nos

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """`et-0/0/<cage>[:<child>]`; see `naming.port_name`."""
        return port_name(model, cage, child, children)

    def gaps(self, switch: Switch) -> list[Gap]:
        """Findings FAB5501 to FAB5518."""
        return gaps(switch)

    def render(self, switch: Switch) -> dict[str, str]:
        """The whole configuration in curly braces, as `load override` takes it.

        Raises:
            jinja2.TemplateError: a user's template is at fault; the built-in ones do not raise.
        """
        template = environment(self.name).get_template("juniper.conf.j2")
        return {FILE: template.render(switch=switch_view(switch))}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of a rendered or running configuration, in curly braces or as `set` commands."""
        return read(files)

    def planned(self, switch: Switch) -> Facts:
        """The facts of the switch as Junos can hold them."""
        return planned(switch)


JUNOS = Junos()
