"""`fabricc init`: a GitOps repository with a spec that builds as it stands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from fabricc.base.documents.schema import schema_path
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path
from fabricc.catalog.load import load_catalog
from fabricc.cli import catalog_words, options, output
from fabricc.cli import example as example_repository
from fabricc.cli.first_spec import fit_spec
from fabricc.cli.questions import Options, ask, read_options
from fabricc.compiler.load.spec_location import LOCK_NAME
from fabricc.compiler.result import exit_status
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
    "marker.sh": "ci/marker.sh",
    "github-fetch.sh": "ci/github-fetch.sh",
    "github-approvals.sh": "ci/github-approvals.sh",
    "github-post.sh": "ci/github-post.sh",
    "github-label.sh": "ci/github-label.sh",
    "github-comments.jq": "ci/github-comments.jq",
    "gitlab-ci.yml": "ci/fabricc.gitlab-ci.yml",
    "gitlab-review.sh": "ci/gitlab-review.sh",
    "gitlab.py": "ci/gitlab.py",
    "azure-pipelines.yml": "ci/azure-pipelines.yml",
    "azure.py": "ci/azure.py",
    "policy.yaml": "fabricc-policy.yaml",
    "pre-commit.yaml": ".pre-commit-config.yaml",
    "readme.md": "README.md",
}
"""File of the starter -> where it goes."""
_SPEC = "cluster.yaml"
_SCHEMA = "cluster.schema.json"


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=options.PATH, default=Path())
@click.option("--cluster", metavar="NAME", help="Name of the cluster. [default: zone-a]")
@click.option("--hosts", metavar="MODEL", shell_complete=catalog_words.complete_models,
              help="Host model of the catalog. [default: dgx-h100]")  # fmt: skip
@click.option("--count", type=click.IntRange(1, 65536), help="Hosts at the start. [default: 64]")
@click.option("--capacity", type=click.IntRange(1, 65536),
              help="Hosts that it can grow to. [default: twice the count]")  # fmt: skip
@click.option("--switches", metavar="MODEL", shell_complete=catalog_words.complete_models,
              help="Switch model of ToRs and spines. [default: sn5600]")  # fmt: skip
@click.option("--nos", metavar="NOS", shell_complete=catalog_words.complete_releases,
              help="Operating system of the switches, with its release. [default: one that runs on it]")  # fmt: skip
@click.option("--hosts-per-unit", type=click.IntRange(1, 4096),
              help="Hosts that share a set of ToRs. [default: the largest common size that fits]")  # fmt: skip
@click.option("--network", "networks", multiple=True, metavar="NAME[=MODEL:NOS]",
              help="Add the network storage or frontend, with switches of its own; repeatable.")  # fmt: skip
@click.option("--tenant", "tenants", multiple=True, metavar="NAME=HOSTS",
              help="Give hosts to a tenant with a segment of its own in frontend; repeatable.")  # fmt: skip
@click.option("--ssh-key", type=options.FilePath(exists=True, dir_okay=False, path_type=Path),
              metavar="FILE", help="Public SSH key of the first account on the switches.")  # fmt: skip
@click.option("--user", metavar="NAME", help="Name of that account. [default: netops]")
@click.option("--example", is_flag=True,
              help="Write an example with commits, a branch that adds hosts, and its review comment.")  # fmt: skip
def command(folder: Path, example: bool, **given: Any) -> int:
    """Write a commented spec, CI for GitHub and GitLab, and pre-commit hooks into DIR (default: here).

    On a terminal, the verb prompts for hosts, switches and networks, unless one of the options is given.
    Existing files are not overwritten. There is no lock before the first build: until then nothing is pinned.
    """
    taken = [name for name in (*FILES.values(), LOCK_NAME, _SCHEMA) if os.path.lexists(folder / name)]
    if taken:
        output.err(
            f"error[FAB7011]: {folder} already has {', '.join(taken)}; nothing was written",
            "  help: choose an empty folder.",
        )
        return 1
    stated = Options(**given)
    if example:
        if stated != Options():
            raise click.UsageError("--example takes no other option.")
        return _write_example(folder)
    catalog, _ = load_catalog()
    if stated == Options() and sys.stdin.isatty() and sys.stdout.isatty():
        answers = ask(catalog)
    else:
        answers = read_options(stated, catalog)
    text, found = fit_spec((STARTER / _SPEC).read_text("utf-8"), answers, catalog)
    output.print_findings(found, "text", {_SPEC: text})
    if exit_status(found):
        account = "" if answers.ssh_key else " An account for the switches is given with --ssh-key FILE."
        output.err(f"Nothing was written, since this spec does not build: change the answers.{account}")
        return 1
    _write_files(folder, text, answers.cluster)
    where = "" if folder == Path() else f"cd {shell_path(folder)} && "
    output.out(
        f"{folder}: {', '.join([*FILES.values(), _SCHEMA])}",
        "Nothing is pinned or deployed yet: change cluster.yaml as you like, the first build writes fabricc.lock.",
        f"Next: `{where}fabricc build cluster.yaml`; once, for CI: `bash ci/pin.sh fabricc=={__version__}`",
    )
    return 0


def _write_files(folder: Path, spec: str, cluster: str) -> None:
    """Write the files of the starter with this spec."""
    sources = {name: STARTER / source for source, name in FILES.items()} | {_SCHEMA: schema_path("cluster")}
    for above in dict.fromkeys((folder / name).parent for name in sources):
        make_folder(above)  # a link that leads out ends the verb before any file is written
    for name, source in sources.items():
        content = source.read_bytes() if name != _SPEC else spec.encode()
        if name == "README.md":
            content = content.replace(b"zone-a", cluster.encode())
        write_file(folder / name, content)


def _write_example(folder: Path) -> int:
    """Write the example repository; without Git, its files only."""
    if folder.exists() and any(folder.iterdir()):
        output.err(
            f"error[FAB7011]: {folder} is not empty; nothing was written", "  help: choose an empty folder."
        )
        return 1
    catalog, _ = load_catalog()
    text, _ = fit_spec((STARTER / _SPEC).read_text("utf-8"), example_repository.ANSWERS, catalog)
    _write_files(folder, text, example_repository.ANSWERS.cluster)
    result = example_repository.build_example(folder)
    if result.tree is None:
        output.print_findings(result.diagnostics, "text", {})
        return 1
    if not example_repository.has_git():
        output.out(
            f"{folder}: the example, built", "There is no supported Git: no commits, branch or comment."
        )
        return 0
    try:
        result = example_repository.commit_example(folder)
    except GitError as error:
        output.err(f"error[{error.code}]: {error}", *([f"  help: {error.help}"] if error.help else []))
        return 1
    if result.tree is None:
        output.print_findings(result.diagnostics, "text", {})
        return 1
    where = "" if folder == Path() else f"cd {shell_path(folder)} && "
    output.out(
        f"{folder}: the example, on the branches {example_repository.MAIN} and {example_repository.BRANCH}",
        f"{folder / example_repository.COMMENT}: the comment that CI posts for this change",
        f"Next: `{where}fabricc diff cluster.yaml --base {example_repository.MAIN} --head {example_repository.BRANCH}`",
    )
    return 0
