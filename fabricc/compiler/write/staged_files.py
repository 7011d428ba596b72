"""The files that a build has staged so far."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from fabricc.back.hosts import mode
from fabricc.back.jobs.files import is_executable
from fabricc.base.values import dataclass
from fabricc.tree import EmitError
from fabricc.tree.stage import Content, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.tree.patch import Patch
    from fabricc.tree.stage import Held, Written


@dataclass(slots=True)
class Gathered:
    """Files of the tree to be.

    Attributes:
        sums: path -> SHA-256 (hex).
        kept: those that do not differ from the present tree.
        edited: paths that somebody changed by hand since the last build.
    """

    sums: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    edited: list[str] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """Return the number of files that differ from the present tree."""
        return len(self.sums) - len(self.kept)

    def take(self, written: Iterable[Written]) -> None:
        """Add staged files.

        Raises:
            EmitError: FAB7004, a path occurs twice.
        """
        for path, digest, changed, edited in written:
            if path in self.sums:
                raise _duplicate_path(path)
            self.sums[path] = digest
            if not changed:
                self.kept.add(path)
            if edited:
                self.edited.append(path)

    def join(self, other: Gathered) -> None:
        """Add the files of another collection.

        Raises:
            EmitError: FAB7004, as `take`.
        """
        if not self.sums.keys().isdisjoint(other.sums):
            raise _duplicate_path(min(self.sums.keys() & other.sums.keys()))
        self.sums |= other.sums
        self.kept |= other.kept
        self.edited += other.edited


def _duplicate_path(path: str) -> EmitError:
    return EmitError("FAB7004", f"two files of one build have the name {path}")


def put_text(stage: Stage | Patch | Held, path: str, text: str) -> Written:
    """Stage a file that belongs to no device."""
    return stage.put(path, text.encode(), mode=0o755 if is_executable(path, text) else 0o644)


def put_device(stage: Stage | Patch | Held, folder: str, files: Mapping[str, str]) -> Iterable[Written]:
    """Stage the files of a device: path below its folder -> text."""
    contents = [Content(name, *_encode_file(files[name]), mode) for name, mode in _file_modes(tuple(files))]
    if isinstance(stage, Stage):
        return stage.put_folder(folder, contents)
    return [stage.put(f"{folder}/{name}", content, mode=mode, sha256=sha256)
            for name, content, sha256, mode in contents]  # fmt: skip


@lru_cache(maxsize=128)
def _encode_file(text: str) -> tuple[bytes, str]:
    """Return the bytes of a file and their SHA-256 (hex); cached, because hosts share most files."""
    content = text.encode(errors="surrogatepass")  # a template can print half a character: FAB6052
    return content, sha256(content).hexdigest()


@lru_cache(maxsize=256)
def _file_modes(names: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return the names of a device's files in order with their modes; cached, because devices share them."""
    return [(name, mode(name)) for name in sorted(names)]
