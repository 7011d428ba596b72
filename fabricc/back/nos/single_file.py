"""A back end whose switch is one file, printed by one template from a view of the switch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.exec_commands import ExecLine, Reversal, matching_lines, negating_lines
from fabricc.back.nos.lost_lines import state_lost_lines, state_refused_lines
from fabricc.back.nos.secret_values import hide_values
from fabricc.back.nos.templating import template_environment
from fabricc.back.reading.reader import recognized_lines
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Reading, switch_facts

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.back.nos.collected import Collected
    from fabricc.back.reading import Reader
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import PortProfile
    from fabricc.fabric.vocabulary import Gap


@dataclass(frozen=True, slots=True)
class SingleFileNos:
    """Implements `fabricc.back.nos.base.Nos`, which documents each method.

    Attributes:
        name: also the model's key under `nos:` in the catalog, and the folder of the templates.
        file: name of the only file of `render`; `template` prints it.
        view: makes the object `switch` of the template.
        reader: of the file.
        adjust_profile: changes what all ports of a profile state to what the platform holds, see `switch_facts`.
        states: functions that add the further facts of each topic to the Fabric's facts, and remove those it cannot
            express.
        ignorable_reader: reads lines without effect on forwarding or losslessness; None if none are known.
        found: its knowledge about collected texts.
        commands: beginnings of lines and blocks by which the switch runs a command; None where none are known.
        find_exec_lines: finds lines of the exec mode, which no configuration holds.
        find_reversals: finds lines that remove what other lines of the file set.
        sets_headroom_pool: whether the configuration sets the size of the pool of shared headroom.
        longest_cable_m: longest cable of a lossless class that it has figures for; None where it sets no limit.
        name_at_speed: the name of a port at a speed, where names depend on speeds.
    """

    name: str
    releases: tuple[str, ...]
    default_release: str
    file: str
    template: str
    port_name: Callable[[SwitchModel, int, int, int], str]
    gaps: Callable[[Switch], list[Gap]]
    view: Callable[[Switch], object]
    reader: Reader
    adjust_profile: Callable[[Switch, Facts, PortProfile | None], None]
    states: tuple[Callable[[Facts, Switch], None], ...]
    found: Collected
    ignorable_reader: Reader | None = None
    commands: re.Pattern[str] | None = None
    find_exec_lines: Callable[[str], Iterator[ExecLine]] | None = None
    find_reversals: Callable[[str], Iterator[Reversal]] = negating_lines
    sets_headroom_pool: bool = False
    refused: tuple[tuple[str, str], ...] = ()
    longest_cable_m: Callable[[SwitchModel], int] | None = None
    name_at_speed: Callable[[SwitchModel, str, int], str] | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names of the files that every switch has."""
        return (self.file,)

    def supports(self, model: SwitchModel) -> bool:
        """Return whether the catalog has settings of this NOS for the model."""
        return self.name in model.nos

    def render(self, switch: Switch) -> dict[str, str]:
        """Return the switch's one file.

        Raises:
            jinja2.TemplateError: a user's template is at fault; the built-in ones do not raise.
        """
        template = template_environment(self.name, objects=True).get_template(self.template)
        return {self.file: template.render(switch=self.view(switch))}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Return the facts of a switch's files."""
        reading = state_lost_lines(self.reader.read(files), files)
        state_refused_lines(reading, self.refused)
        return hide_values(reading, files)

    def ignorable(self, files: Mapping[str, str], reading: Reading) -> frozenset[tuple[str, int]]:
        """File and line of each unknown line of a reading that is known to be irrelevant."""
        return recognized_lines(
            reading, files, dict.fromkeys(files, self.ignorable_reader) if self.ignorable_reader else {}
        )

    def command_lines(self, files: Mapping[str, str]) -> Iterator[tuple[str, int]]:
        """Yield file and line of what makes the switch run a command."""
        if self.commands is not None:
            for file, text in files.items():
                yield from matching_lines(file, text, self.commands)

    def exec_lines(self, file: str, text: str) -> Iterator[ExecLine]:
        """Yield the lines of a file that are exec commands."""
        if self.find_exec_lines is not None and file in {"", self.file}:
            yield from self.find_exec_lines(text)

    def reversals(self, file: str, text: str) -> Iterator[Reversal]:
        """Yield the lines of a file that remove what other lines of it set."""
        if file == self.file:
            yield from self.find_reversals(text)

    def planned(self, switch: Switch) -> Facts:
        """Return the facts that reading the rendered configuration gives."""
        facts = switch_facts(switch, partial(self.adjust_profile, switch))
        for state in self.states:
            state(facts, switch)
        return facts
