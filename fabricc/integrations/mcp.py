"""A server of the Model Context Protocol that answers questions about fabrics, and changes nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from fabricc.base.diagnostics import FindingsError
from fabricc.base.foreign.files import set_boundary
from fabricc.integrations.confined import Confined, split_line
from fabricc.version import __version__

_INSTRUCTIONS = """\
fabricc compiles a short spec of an AI cluster (cluster.yaml, with fabricc.lock) into the configuration of every switch
and host: RoCEv2 over IP and BGP in a Clos fabric. These tools read and change nothing. Paths are relative to the folder
that the server was started with. A result has the JSON of `fabricc VERB --format json` as `document`, the exit `status`
(0 nothing wrong, 1 something is) and, in `left_out`, how much of long lists is not shown: ask with a larger `most`."""
_CODE = re.compile(r"FAB[0-9]{4}", re.IGNORECASE)

_Text = Annotated[str, Field(min_length=1)]
"""An empty text means an unset variable of the client, not the default."""
_Spec = Annotated[str, Field(min_length=1, description="The spec's path, such as cluster.yaml.")]
_Side = Annotated[
    str, Field(min_length=1, description="A spec, or a folder that `fabricc build` wrote (build/CLUSTER).")
]
_Most = Annotated[int, Field(ge=1, le=100_000, description="Entries of any list that are shown at most.")]
_Aspect = Literal["cabling", "bgp", "routes", "interfaces", "qos", "config"]


class Tools:
    """The tools, each a verb that only reads.

    Attributes:
        place: what they may read.
        access: how `verify` logs in to switches.
    """

    def __init__(self, root: Path, access: Path | None) -> None:
        self.place, self.access = Confined(root.resolve(), access), access

    async def plan(self, spec: _Spec, most: _Most = 50) -> dict[str, Any]:
        """Plan a spec: counts, topology, addresses, BGP, QoS, room to grow, power, and all findings."""
        return await self._run_verb(["plan"], [self.place.path(spec)], most)

    async def explain(
        self,
        subject: Annotated[
            str,
            Field(
                min_length=1,
                description="A code (FAB4003), FILE:LINE of a built tree; or a spec or tree, with `about`.",
            ),
        ],
        about: Annotated[
            _Text | None,
            Field(description="Of a spec or tree: an address, prefix, ASN, device, DEVICE:PORT, or code."),
        ] = None,
        facts: Annotated[
            list[_Text] | None,
            Field(description="Words that choose settings of the device or port: ecn, pfc."),
        ] = None,
        most: _Most = 50,
    ) -> dict[str, Any]:
        """Why a value is what it is: its rule, its formula in numbers, and the line of the spec behind it."""
        words, place = ["explain"], self.place
        if _CODE.fullmatch(subject) and about is None:
            operands = [subject]
        elif about is None and (line := split_line(subject)) is not None:
            file = place.path(line[0])
            if (tree := place.tree_of(file)) is not None:
                words.append(f"--spec={place.spec_of(tree)}")
            operands = [file + line[1]]
        else:
            path = place.path(subject)
            spec = place.spec_of(path) if (place.root / path).is_dir() else path
            operands = [spec, *([about] if about is not None else []), *(facts or [])]
        return await self._run_verb(words, operands, most)

    async def diff(
        self,
        before: _Side,
        after: Annotated[
            _Text | None, Field(description="The newer side; without it `before` is compared with Git.")
        ] = None,
        base: Annotated[
            _Text | None,
            Field(description="Git revision to compare the spec with; HEAD where none is named."),
        ] = None,
        head: Annotated[
            _Text | None, Field(description="Git revision in place of the spec as it is here.")
        ] = None,
        most: _Most = 50,
    ) -> dict[str, Any]:
        """What a change does to every device: its impact on traffic, the GPUs behind it, renumbering, diffs, policy."""
        revisions = [
            f"--{name}={said}" for name, said in (("base", base), ("head", head)) if said is not None
        ]
        sides = [self.place.path(each) for each in (before, after) if each is not None]
        return await self._run_verb(["diff", *revisions], sides, most)

    async def audit(
        self,
        folder: Annotated[
            str, Field(min_length=1, description="Running configurations of switches, or a built tree.")
        ],
        most: _Most = 50,
    ) -> dict[str, Any]:
        """Audit any fabric for RDMA from a folder of its configurations, and list what was not understood."""
        return await self._run_verb(["audit"], [self.place.path(folder)], most)

    async def verify(
        self,
        tree: Annotated[
            str, Field(min_length=1, description="A folder that `fabricc build` wrote (build/CLUSTER).")
        ],
        devices: Annotated[
            list[_Text] | None, Field(description="The switches to read; all by default.")
        ] = None,
        aspects: Annotated[
            list[_Aspect] | None, Field(description="What to compare; all by default.")
        ] = None,
        network: Annotated[
            _Text | None,
            Field(description="Which network, where the spec has several: compute, or its name."),
        ] = None,
        most: _Most = 50,
    ) -> dict[str, Any]:
        """Read live switches, change nothing, and compare them with a built tree; list the moves that fix cabling."""
        path = self.place.path(tree)
        words = ["verify", f"--spec={self.place.spec_of(path)}", f"--access={self.access}"]
        words += [f"--devices={','.join(devices)}"] if devices else []
        words += [f"--only={','.join(aspects)}"] if aspects else []
        words += [f"--network={network}"] if network is not None else []
        return await self._run_verb(words, [path], most)

    async def _run_verb(self, words: list[str], operands: list[str], most: int) -> dict[str, Any]:
        return (await self.place.tell(words, operands, most))._asdict()


def build_server(root: Path, access: Path | None) -> Any:
    """Build the server; without an access file it contacts no switch, and has no tool `verify`."""
    tools = Tools(root, access)
    made = MCPServer("fabricc", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    offered: list[Callable[..., Awaitable[Any]]]
    offered = [tools.plan, tools.explain, tools.diff, tools.audit, *([tools.verify] if access else [])]
    for tool in offered:
        live = tool == tools.verify
        hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=live)
        made.add_tool(_report_findings(tool), annotations=hints)
        _refuse_unknown(made._tool_manager.get_tool(tool.__name__))
    return made


def _refuse_unknown(tool: Any) -> None:
    """Reject arguments that a tool does not have: a misspelled `base` would compare with something else.

    The SDK ignores them, and has no setting for it.
    """
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)


def _report_findings(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a tool so that its findings reach the client."""

    @functools.wraps(tool)
    async def run_tool(*arguments: Any, **named: Any) -> Any:
        try:
            return await tool(*arguments, **named)
        except FindingsError as error:
            lines = (f"{each.code}: {each.message}. {each.help}".rstrip(". ") for each in error.diagnostics)
            raise ToolError("\n".join(lines)) from None

    return run_tool


def serve_stdio(root: Path, access: Path | None) -> None:
    """Answer on standard input and output until they are closed."""
    set_boundary(root, *([access] if access else []))
    build_server(root, access).run("stdio")
