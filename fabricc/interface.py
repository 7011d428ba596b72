"""The Python interface besides `compile_spec`: verbs as functions that return values, print nothing and never exit.

Paths may be texts. Lengths are meters, speeds Gb/s, sizes bytes; lines count from 1; addresses are canonical text.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.audit.gather import FolderContents, gather_devices
from fabricc.audit.run import Audit, audit_fabric
from fabricc.base.diagnostics import FindingsError
from fabricc.compiler import driver
from fabricc.compiler.load.tenant_edit import edit_tenant
from fabricc.compiler.recheck import check_tree
from fabricc.front.spec.tenants import AssignmentError
from fabricc.proof.tree import read_consistently, trees_around
from fabricc.review.diff.requested_review import review_change
from fabricc.review.explain.answer import Answer, answer_question
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fabricc.compiler.result import BuildResult
    from fabricc.review.diff.model import Review


def build(
    spec: Path | str,
    out: Path | str = "build",
    *,
    jobs: int | None = None,
    frozen: bool = False,
    repin: Sequence[str] | None = None,
    check: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> BuildResult:
    """Update the tree of a spec as `fabricc build` does: all or nothing, and only changed files.

    Args:
        spec: the spec; its lock is written next to it.
        out: folder that holds the tree, which is named after the cluster.
        jobs: worker processes; None for one per usable CPU.
        frozen: fail rather than change the lock.
        repin: pins of the lock that may change, () for the smallest sufficient set; None keeps all.
        check: read every file back and prove it; otherwise the tree is written without a proof.
        progress: called with the current phase, the number done and the total.

    Returns:
        The result. An error, also one of the disk, is among its diagnostics; then nothing was written.
    """
    result, _ = driver.build_tree(
        _checked_path(spec),
        _checked_path(out),
        jobs=jobs,
        frozen=frozen,
        repin=repin,
        check=check,
        progress=progress,
    )
    return result


def check(
    tree: Path | str,
    spec: Path | str | None = None,
    *,
    lock: Path | str | None = None,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> BuildResult:
    """Prove a built tree, as `fabricc check` does: its bytes, its meaning, both ends of every link; nothing is written.

    Args:
        tree: what `build` wrote, `build/<cluster>`.
        spec: its spec; None to search for it at the place of the last build and above the tree.
        lock: its lock; None for the one next to the spec.
        jobs: worker processes; None for one per usable CPU.
        progress: as for `build`.
    """
    result, _ = check_tree(
        _checked_path(tree),
        None if spec is None else _checked_path(spec),
        lock=None if lock is None else _checked_path(lock),
        jobs=jobs,
        progress=progress,
    )
    return result


def diff(
    before: Path | str,
    after: Path | str | None = None,
    *,
    base: str | None = None,
    head: str | None = None,
    policy: Path | str | None = None,
    labels: Iterable[str] = (),
    jobs: int | None = None,
) -> Review:
    """Compare two specs or built trees, or a Git revision of one spec with the present files.

    Args:
        before: the spec or tree to compare; without `after`, the spec itself.
        after: the newer spec or tree.
        base: Git revision to compare with, where this branch left it; None for HEAD.
        head: Git revision instead of the present files.
        policy: the policy for the change; None for the spec's own and fabricc-policy.yaml in its folder.
        labels: labels of the change, for policies that require one.
        jobs: worker processes; None for one per usable CPU.

    Raises:
        FindingsError: a side cannot be read or does not compile, or a policy is not valid.
        ValueError: `after` goes with neither `base` nor `head`; or a text is empty.
    """
    if after is not None and (base is not None or head is not None):
        raise ValueError("give `after`, or `base` and `head`, not both")
    if "" in (base, head):
        raise ValueError(
            "`base` and `head` name Git revisions: leave them out instead of giving an empty text"
        )
    sides = _checked_path(before), None if after is None else _checked_path(after)
    rules = None if policy is None else _checked_path(policy)
    with _report_unreadable():
        return review_change(*sides, base, head, policy=rules, labels=labels, jobs=jobs)


def explain(subject: Path | str, *words: str, spec: Path | str | None = None) -> Answer:
    """Explain a value: `explain("FAB4003")`, `explain("cluster.yaml", "10.0.0.6")`, `explain("FILE:LINE")`.

    Args:
        subject: a code, or FILE:LINE of a built tree; or a spec or a tree, to which `words` refer.
        words: an address, a prefix, an ASN, a device or DEVICE:PORT, and words that choose facts of it.
        spec: the spec of a line's tree; None to search for it.

    Raises:
        FindingsError: nothing has this name, or the spec does not compile.
        ValueError: `subject` alone is no question.
    """
    with _report_unreadable():
        return answer_question(str(subject), words, None if spec is None else _checked_path(spec))


def assign_tenant(spec: Path | str, hosts: Iterable[str], tenant: str) -> bool:
    """Put hosts into a tenant of a spec and take them out of others, as `fabricc tenant assign` does.

    Args:
        spec: the spec; only the hosts of its tenants change.
        hosts: names of hosts.
        tenant: a tenant of whole hosts that the spec has.

    Returns:
        Whether the spec changed.

    Raises:
        FindingsError: the spec cannot be read or written, or has no such tenant.
        TypeError: `hosts` is a single text, whose letters would be names.
    """
    if isinstance(hosts, str):
        raise TypeError(f"a list of names is needed, not the text {hosts!r}")
    path = _checked_path(spec)
    try:
        with _report_unreadable():
            text, changed = edit_tenant(path, list(hosts), tenant)
    except UnicodeDecodeError as error:
        raise FindingsError("FAB0001", f"cannot read {path}: {error}") from None
    except (AssignmentError, EmitError) as error:
        raise FindingsError(error.diagnostic.code, error.diagnostic.message) from None
    return changed != text


def _checked_path(stated: Path | str) -> Path:
    """Return the path of a file or folder.

    Raises:
        ValueError: the text is empty, as that of an unset variable is; as a path it would mean the working folder.
    """
    if stated == "":
        raise ValueError("an empty text names no file or folder")
    return Path(stated)


@contextmanager
def _report_unreadable() -> Iterator[None]:
    """Report a file that the system cannot read, such as one with a too long name, as a finding."""
    try:
        yield
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        raise FindingsError("FAB0001", f"cannot read{place}: {error.strerror or error}") from None


def read_folder(folder: Path | str, *, jobs: int | None = None) -> FolderContents:
    """Return the devices of a folder of configurations, of a built tree or of one file, with their facts.

    Args:
        folder: running configurations as devices print them, in any arrangement; or a tree that fabricc built.
        jobs: worker processes; None for one per CPU.

    Raises:
        OSError: the folder is not there or must not be read.
        EmitError: a worker process died.
    """
    place = _checked_path(folder)
    return read_consistently(trees_around(place), lambda: gather_devices(place, jobs=jobs))


def audit_folder(folder: Path | str, *, jobs: int | None = None) -> Audit:
    """Audit the fabric whose configurations are in a folder; arguments and errors as for `read_folder`."""
    return audit_fabric(_checked_path(folder), jobs=jobs)
