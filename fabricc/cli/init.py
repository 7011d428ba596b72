"""`fabricc init`: a GitOps repository with a spec that builds as it stands."""

from __future__ import annotations

import os
from pathlib import Path

import click

from fabricc.base.documents.schema import schema_path
from fabricc.cli import options, output
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.finding import LOCK_NAME
from fabricc.tree.file import make_folder, write_file
from fabricc.version import __version__

STARTER = Path(__file__).parent / "starter"
FILES = {
    "cluster.yaml": "cluster.yaml",
    "gitignore": ".gitignore",
    "workflow.yml": ".github/workflows/fabricc.yml",
    "codeowners": ".github/CODEOWNERS",
    "requirements.txt": "ci/requirements.txt",
    "pin.sh": "ci/pin.sh",
    "install.sh": "ci/install.sh",
    "run.sh": "ci/run.sh",
    "prove.sh": "ci/prove.sh",
    "review.sh": "ci/review.sh",
    "github-fetch.sh": "ci/github-fetch.sh",
    "github-post.sh": "ci/github-post.sh",
    "github-label.sh": "ci/github-label.sh",
    "github-comments.jq": "ci/github-comments.jq",
    "gitlab-ci.yml": "ci/fabricc.gitlab-ci.yml",
    "gitlab-review.sh": "ci/gitlab-review.sh",
    "gitlab.py": "ci/gitlab.py",
    "policy.yaml": "fabricc-policy.yaml",
    "pre-commit.yaml": ".pre-commit-config.yaml",
    "readme.md": "README.md",
}
"""File of the starter -> where it goes."""
_SCHEMA = "cluster.schema.json"


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=options.PATH, default=Path())
def command(folder: Path) -> int:
    """Write a commented spec, CI for GitHub and GitLab, and pre-commit hooks into DIR (default: here).

    Nothing that exists is overwritten. There is no lock before the first build: until then nothing is pinned.
    """
    taken = [name for name in (*FILES.values(), LOCK_NAME, _SCHEMA) if os.path.lexists(folder / name)]
    if taken:
        output.err(
            f"error[FAB7011]: {folder} already has {', '.join(taken)}; nothing was written",
            "  help: choose an empty folder.",
        )
        return 1
    sources = {name: STARTER / source for source, name in FILES.items()} | {_SCHEMA: schema_path("cluster")}
    for name, source in sources.items():
        make_folder((folder / name).parent)
        write_file(folder / name, source.read_bytes())
    compiled = compile_spec(folder / "cluster.yaml", ethernet_only=True)
    output.tell(compiled.diagnostics, "text", compiled.sources)
    if not compiled.sound:
        return 1
    where = "" if folder == Path() else f"cd {folder} && "
    output.out(
        f"{folder}: {', '.join([*FILES.values(), _SCHEMA])}",
        "Nothing is pinned or deployed yet: change cluster.yaml as you like, the first build writes fabricc.lock.",
        f"Next: `{where}fabricc build cluster.yaml`; once, for CI: `bash ci/pin.sh fabricc=={__version__}`",
    )
    return 0
