"""Plain FRR on a Debian switch: `frr.conf` and the files that boot the box into the fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.frr.conf import render_frr_conf
from fabricc.back.nos.frr.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.frr.linux import READERS, read_isolation, render_linux
from fabricc.back.nos.frr.planned import next_hop_lines, planned_facts
from fabricc.back.nos.frr.reader import read_frr_conf
from fabricc.fabric.facts import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.gap import Gap
    from fabricc.fabric.model import Switch

__all__ = ["FRR", "FrrLinux", "read_frr_conf", "render_frr_conf"]


class FrrLinux:
    """The back end; see `fabricc.back.nos.base.Nos`."""

    name = "frr"
    releases = RELEASES
    default_release = DEFAULT_RELEASE

    def supports(self, model: SwitchModel) -> bool:
        """Whether the catalog knows the model's port names under Linux."""
        return self.name in model.nos

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """`swp3` for a whole cage, `swp3s0`, `swp3s1` for its children, as switchdev drivers name them."""
        pattern = str(model.nos.get(self.name, {}).get("port", "swp{cage}"))
        whole = pattern.format(cage=cage)
        return whole if children == 1 else f"{whole}s{child - 1}"

    def gaps(self, switch: Switch) -> list[Gap]:
        """What plain Linux cannot express of this switch; codes FAB5201 to FAB5209."""
        return gaps(switch)

    def render(self, switch: Switch) -> dict[str, str]:
        """`frr.conf` and the box's own files by name."""
        head = next_hop_lines(switch)
        return {"frr.conf": render_frr_conf(switch, extra_head=head), **render_linux(switch)}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of the box's files; a file of another name is unknown as a whole."""
        reading = Reading()
        for name in sorted(files.keys() - {"frr.conf"}):
            if read := READERS.get(name):
                read(files[name], name, reading)
            else:
                reading.unknown.append((name, 1, "a file that this reader does not know"))
        if "frr.conf" in files:
            read_frr_conf(files["frr.conf"], "frr.conf", reading)
        read_isolation(reading)
        return reading

    def planned(self, switch: Switch) -> Facts:
        """The switch's facts without QoS, port speed and accounts, with daemons and kernel settings."""
        return planned_facts(switch)


FRR = FrrLinux()
