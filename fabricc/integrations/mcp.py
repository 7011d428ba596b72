"""Answer questions about fabrics over the Model Context Protocol, and change nothing.

Each verb runs in its own process, on files below one folder, with limits.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import json
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from fabricc.base.diagnostics import FindingsError
from fabricc.base.documents.document import clip
from fabricc.base.foreign import shell
from fabricc.base.foreign.files import READ_ALSO, READ_BELOW, set_boundary
from fabricc.base.values import dataclass
from fabricc.compiler.load.spec_location import find_spec
from fabricc.proof.tree import read_manifest
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
    """The MCP tools; each runs one read-only verb.

    Attributes:
        place: the folder that they may read.
        access: how `verify` logs in to switches.
    """

    def __init__(self, root: Path, access: Path | None) -> None:
        self.place, self.access = ReadableFolder(root.resolve(), access), access

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
        """Explain a value: the rule, the formula with its numbers, and the line of the spec that decides it."""
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
            Field(description="Git revision to compare the spec with; HEAD by default."),
        ] = None,
        head: Annotated[
            _Text | None, Field(description="Git revision in place of the spec as it is here.")
        ] = None,
        most: _Most = 50,
    ) -> dict[str, Any]:
        """Review a change: impact on traffic and GPUs, renumbering, the diff of every device, and policy violations."""
        revisions = [
            f"--{name}={revision}"
            for name, revision in (("base", base), ("head", head))
            if revision is not None
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
            list[_Aspect] | None, Field(description="The aspects to compare; all by default.")
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
        return (await self.place.run_verb(words, operands, most))._asdict()


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


_LONGEST_S = 600
_LARGEST = 64 << 20
"""The largest output of a verb in bytes: that of an audit of 80,000 GPUs."""
_PIECE = 1 << 16
_LONGEST_TEXT = 8000
_FIELDS = 40
"""A mapping with at most this many entries may be a record, which is returned whole."""
_LINE = re.compile(r"(.+?)((?::[0-9]{1,9}){1,2})")


class RequestError(FindingsError):
    """A request that the server rejects, with a finding."""


class VerbOutput(NamedTuple):
    """The output of a verb.

    Attributes:
        status: its exit status.
        document: its JSON, long lists and texts cut.
        left_out: place in the document -> number of entries, or characters of a text, that were cut.
    """

    status: int
    document: Any
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReadableFolder:
    """The one folder that verbs may read.

    Attributes:
        root: the folder, an absolute path without links.
        access: a file that may be read too: how to log in to switches.
    """

    root: Path
    access: Path | None = None

    def path(self, text: str) -> str:
        """Return a path below the root for a verb, with links resolved.

        Raises:
            RequestError: FAB0071, it leads out of the root.
        """
        try:
            real = None if "\0" in text or not text else Path(os.path.realpath(self.root / text))
            if real is not None:
                real.stat()
        except OSError as error:
            real = None if error.errno == errno.ENAMETOOLONG else real
        except ValueError:  # no name that a file can have
            real = None
        if real is None or not real.is_relative_to(self.root):
            message = f"'{clip(text)}' is not below the folder that this server may read"
            raise RequestError("FAB0071", message, "Name a file or folder below it, relative to it.")
        return f"./{real.relative_to(self.root)}"

    def spec_of(self, tree: str) -> str:
        """Return the spec of a built tree below the root.

        Raises:
            FindingsError: it is no built tree; FAB6015, its spec is not found; FAB0071, its spec is not below the root.
        """
        folder = self.root / tree
        spec = find_spec(folder, read_manifest(folder))
        if spec is None:
            raise RequestError("FAB6015", f"the spec of {tree} is not found", "Name the spec.")
        return self.path(str(spec))

    def tree_of(self, file: str) -> str | None:
        """Return the built tree below the root that a file is in."""
        above = (self.root / file).parents
        below = (folder for folder in above if folder.is_relative_to(self.root))
        return next((str(folder) for folder in below if (folder / "manifest.json").is_file()), None)

    def _verb_environment(self) -> dict[str, str]:
        """Return the environment of a verb, which opens no file outside the root, whatever a spec or a tree names."""
        limits = {READ_BELOW: str(self.root), READ_ALSO: str(self.access) if self.access else ""}
        return {**os.environ, **limits}

    async def run_verb(self, words: Sequence[str], operands: Sequence[str], most: int) -> VerbOutput:
        """Run a verb with its options and `--format json`.

        Args:
            words: the verb and its options.
            operands: its arguments, including those that begin with a dash.
            most: maximum number of entries of a list or mapping.

        Raises:
            RequestError: FAB0072, the output is no JSON (it is quoted), or no command accepts these words; FAB0073, it
                took too long; FAB0078, the output is too long.
        """
        # -P: no module is taken from the folder that the process starts in.
        command = (sys.executable, "-P", "-m", "fabricc", *words, "--format", "json", "--", *operands)
        try:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=self.root, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=self._verb_environment(),
                preexec_fn=shell.end_with_parent(),
            )  # fmt: skip
        except (OSError, ValueError) as error:
            message = f"`fabricc {words[0]}` rejects the arguments: {error}"
            raise RequestError("FAB0072", message, "Use shorter arguments without NUL.") from None
        try:
            async with asyncio.timeout(_LONGEST_S):
                async with asyncio.TaskGroup() as tasks:
                    reading, failing = (
                        tasks.create_task(_read_output(process)),
                        tasks.create_task(_last_error(process)),
                    )
                out, err, status = reading.result(), failing.result(), await process.wait()
        except TimeoutError:
            message = f"`fabricc {words[0]}` took longer than {_LONGEST_S} s"
            raise RequestError("FAB0073", message, "Run it in a terminal.") from None
        finally:
            if process.returncode is None:
                process.kill()  # its workers die with it
                await process.communicate()  # a pipe that nobody empties would never end
        if len(out) > _LARGEST:
            message = f"`fabricc {words[0]}` printed more than {_LARGEST >> 20} MiB"
            raise RequestError("FAB0078", message, "Request less, or run it in a terminal.")
        try:
            document, left_out = shorten_value(json.loads(out), most)
        except ValueError:
            reason = err.decode(errors="replace").strip() or "nothing"
            message = f"`fabricc {words[0]}` ended with status {status}: {reason}"
            raise RequestError("FAB0072", message) from None
        return VerbOutput(status, document, left_out)


async def _read_output(process: asyncio.subprocess.Process) -> bytes:
    """Read the output of a process; end the process if it writes more than `_LARGEST`."""
    output = bytearray()
    while process.stdout and (part := await process.stdout.read(_PIECE)):
        if len(output) <= _LARGEST:
            output += part
        elif process.returncode is None:
            process.kill()
    return bytes(output)


async def _last_error(process: asyncio.subprocess.Process) -> bytes:
    """Return the last bytes of the standard error of a process."""
    line = b""
    while process.stderr and (part := await process.stderr.read(_PIECE)):
        line = (line + part)[-_LONGEST_TEXT:]
    return line


def shorten_value(value: Any, most: int, at: str = "") -> tuple[Any, dict[str, int]]:
    """Cut the lists, mappings and long texts of a JSON value; lists and mappings keep at most `most` entries.

    Returns:
        The shortened value, and place of each cut -> number of entries or characters left out.
    """
    left_out: dict[str, int] = {}
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT], {at: len(value) - _LONGEST_TEXT}
    if not isinstance(value, dict | list):
        return value, {}
    shown = max(most, _FIELDS) if isinstance(value, dict) else most
    if len(value) > shown:
        left_out[at] = len(value) - shown
    inner = list(value.items() if isinstance(value, dict) else enumerate(value))[:shown]
    kept = []
    for key, item in inner:
        found, more = shorten_value(item, most, f"{at}.{key}" if at else str(key))
        kept.append((key, found))
        left_out |= more
    return (dict(kept) if isinstance(value, dict) else [item for _, item in kept]), left_out


def split_line(text: str) -> tuple[str, str] | None:
    """Return the file and the rest of `FILE:LINE` or `FILE:LINE:COLUMN`; None for anything else."""
    found = _LINE.fullmatch(text)
    return (found[1], found[2]) if found else None
