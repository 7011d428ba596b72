"""The example repository of `fabricc init --example`: a built fabric and a branch with a change to review."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.foreign import files
from fabricc.base.foreign.git_process import GitError, git_program, run_git
from fabricc.base.values import replace
from fabricc.cli.first_spec import DEFAULTS
from fabricc.compiler.driver import build_tree
from fabricc.review.diff import markdown
from fabricc.review.diff.requested_review import review_change
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from fabricc.compiler import BuildResult

ANSWERS = replace(DEFAULTS, cluster="example", count=16, capacity=32, hosts_per_unit=16)
"""One unit of 16 hosts, with room for the second one, which the branch adds."""
SPEC = Path("cluster.yaml")
MAIN = "main"
BRANCH = "add-unit"
COMMENT = "review-comment.md"
_AUTHOR = ("-c", "user.name=fabricc example", "-c", "user.email=example@fabricc.invalid")
"""Author of the commits, as options of each command: the user's configuration stays as it is."""
_AS_WRITTEN = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")


def build_example(folder: Path) -> BuildResult:
    """Build the tree of the example next to its spec."""
    with chdir(folder):
        result, _ = build_tree(SPEC, Path("build"))
    return result


def has_git() -> bool:
    """Return whether there is a supported Git."""
    try:
        git_program()
    except GitError:
        return False
    return True


def commit_example(folder: Path) -> BuildResult:
    """Commit the built example, and on a branch the second unit; leave the review of the branch in `COMMENT`.

    The comment names both commits, so Git ignores its file.

    Raises:
        GitError: a command of Git failed.
    """
    _git(folder, "init", "--quiet", "--template=", f"--initial-branch={MAIN}")
    ignored = files.read(folder / ".gitignore", root=folder).decode()
    write_file(
        folder / ".gitignore",
        f"{ignored}# It names both commits, so none contains it.\n/{COMMENT}\n".encode(),
    )
    _commit(folder, "Add the example fabric")
    _git(folder, "checkout", "--quiet", "-b", BRANCH)
    _add_unit(folder / SPEC)
    result = build_example(folder)
    if result.tree is None:
        return result
    _commit(folder, "Add the second unit")
    with chdir(folder):
        review = review_change(SPEC, base=MAIN, head=BRANCH, any_case=True)
    text = markdown.render(review, markdown.FORGES["github"])
    write_file(folder / COMMENT, f"{text}".encode())
    return result


def _add_unit(spec: Path) -> None:
    text = files.read(spec, root=spec.parent).decode()
    old, new = (f"hosts: {count}\n" for count in (ANSWERS.count, ANSWERS.capacity))
    assert text.count(old) == 1
    write_file(spec, text.replace(old, new).encode())


def _commit(folder: Path, subject: str) -> None:
    _git(folder, *_AS_WRITTEN, "add", "--all")
    _git(folder, *_AUTHOR, "commit", "--quiet", "--no-gpg-sign", "--no-verify", "-m", subject)


def _git(folder: Path, *arguments: str) -> None:
    answer = run_git(folder, *arguments)
    if answer.status:
        lines = answer.stderr.strip().splitlines()
        raise GitError(f"Git could not write the example: {lines[0] if lines else f'status {answer.status}'}")
