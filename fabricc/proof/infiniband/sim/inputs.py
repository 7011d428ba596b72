"""From a subnet's emitted files to a folder that ibsim and opensm can run in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.infiniband import sm_files
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabricc.back.infiniband.topology import ReadTopology

_ADAPTER = re.compile(r'"H-([0-9a-f]{16})"')
_CAGUID = re.compile(r"^caguid=0x([0-9a-f]{16})$", re.MULTILINE)
_LID = re.compile(r" lid \d+")
_OTHER_RATE = re.compile(r" (4x(NDR|XDR)|2x\w+)$", re.MULTILINE)

OVERRIDES = {
    "sweep_interval": "0",  # only traps sweep, so that what follows an unplugged link follows from the link
    "log_flags": "0x43",  # errors, information and routing tables
    "accum_log_file": "FALSE",
}


@dataclass(frozen=True, slots=True)
class Needs:
    """Capacities that ibsim reserves: nodes, switches, ports, and entries of a forwarding table."""

    nodes: int
    switches: int
    ports: int
    lids: int

    @staticmethod
    def of(topology: ReadTopology) -> Needs:
        """Return the resources that a topology needs, with a small margin."""
        nodes = list(topology.nodes.values())
        switches = [node for node in nodes if node.is_switch]
        ports = sum(node.ports + 1 for node in nodes)
        top = max((node.lid for node in nodes), default=0)
        return Needs(len(nodes) + 16, len(switches) + 16, ports + 64, max(1024, (top + 64) // 64 * 64 + 64))

    def options(self) -> list[str]:
        """Return the options of ibsim."""
        numbers = ("-N", self.nodes, "-S", self.switches, "-P", self.ports, "-L", self.lids)
        return [str(each) for each in numbers]


def adapter_id(guid: int) -> str:
    """The simulated node of an adapter port: ibsim makes a port's GUID of its node's by adding the port's number."""
    return f"H-{guid - 1:016x}"


def net_file(topology: str) -> str:
    """A topology as ibsim 0.10 reads one: node GUIDs one below port GUIDs, no LIDs, every rate that it lacks as HDR.

    It knows neither NDR and XDR nor links of two lanes and would link at SDR; rates play no part in what is judged.
    """
    text = _ADAPTER.sub(lambda match: f'"{adapter_id(int(match[1], 16))}"', topology)
    text = _CAGUID.sub(lambda match: f"caguid=0x{int(match[1], 16) - 1:016x}", text)
    return _OTHER_RATE.sub(" 4xHDR", _LID.sub(" lid 0", text))


def write_inputs(folder: Path, files: Mapping[str, str]) -> None:
    """Write the input of the simulation below `folder`: the net, and every file of the subnet manager.

    Paths below /etc in the files become paths below the folder; nothing else in them changes except the log level.
    """
    for name in ("run", "dump", "cache"):
        (folder / name).mkdir(parents=True)
    (folder / "net").write_text(net_file(files[sm_files.TOPOLOGY]))
    for path, text in files.items():
        if path.startswith("etc/"):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_adapt_conf(folder, text) if path == sm_files.CONF else text)
    (folder / "cache" / "guid2lid").write_text(files[sm_files.LIDS])


def _adapt_conf(folder: Path, text: str) -> str:
    kept = [
        line.replace(" /etc/", f" {folder}/etc/")
        for line in text.splitlines()
        if line.split(" ", 1)[0] not in OVERRIDES
    ]
    own = {**OVERRIDES, "log_file": f"{folder}/opensm.log", "dump_files_dir": f"{folder}/dump/"}
    return "\n".join([*kept, *(f"{key} {value}" for key, value in own.items())]) + "\n"
