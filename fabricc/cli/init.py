"""`fabricc init`: a GitOps repository with a spec that builds as it stands, from options or questions on a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabricc.back import nos as back_ends
from fabricc.base.documents.schema import load_schema, schema_path
from fabricc.base.foreign import files
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.catalog.library import suggest_name
from fabricc.catalog.load import load_catalog
from fabricc.catalog.support import explain_release, explain_system, find_flavor, nearest_release
from fabricc.cli import example as example_repository
from fabricc.cli import options, output, words
from fabricc.cli.first_spec import DEFAULTS, INFINIBAND, NETWORKS, SEGMENTS, Answers, fit_spec, systems_of
from fabricc.compiler.load.spec_location import LOCK_NAME
from fabricc.compiler.result import exit_status
from fabricc.front.spec.document import join_words
from fabricc.tree.file import make_folder, write_file
from fabricc.version import __version__

if TYPE_CHECKING:
    from fabricc.catalog.model import Catalog, SwitchModel

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
@click.option("--hosts", metavar="MODEL", shell_complete=words.complete_models,
              help="Host model of the catalog. [default: dgx-h100]")  # fmt: skip
@click.option("--count", type=click.IntRange(1, 65536), help="Hosts at the start. [default: 64]")
@click.option("--capacity", type=click.IntRange(1, 65536),
              help="Hosts that it can grow to. [default: twice the count]")  # fmt: skip
@click.option("--switches", metavar="MODEL", shell_complete=words.complete_models,
              help="Switch model of ToRs and spines. [default: sn5600]")  # fmt: skip
@click.option("--nos", metavar="NOS", shell_complete=words.complete_releases,
              help="Operating system of the switches, with its release. [default: one that runs on it]")  # fmt: skip
@click.option("--hosts-per-unit", type=click.IntRange(1, 4096),
              help="Hosts that share a set of ToRs. [default: 32, or one that fits]")  # fmt: skip
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
    Existing files are not overwritten. The first build creates the lock, which pins names and addresses.
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
    others: list[str] = []
    if stated == Options() and sys.stdin.isatty() and sys.stdout.isatty():
        answers = prompt_answers(catalog)
    else:
        answers = read_options(stated, catalog)
        if stated.switches and not stated.nos:
            others = [each for each in systems_of(catalog.switches[answers.switches]) if each != answers.nos]
    text, found = fit_spec((STARTER / _SPEC).read_text("utf-8"), answers, catalog)
    output.print_findings(found, "text", {_SPEC: text})
    if exit_status(found):
        account = "" if answers.ssh_key else " An account for the switches is given with --ssh-key FILE."
        output.err(f"No file was written, because this spec does not build: change the answers.{account}")
        return 1
    _write_files(folder, text, answers.cluster)
    where = "" if folder == Path() else f"cd {shell_path(folder)} && "
    output.out(
        f"{folder}: {', '.join([*FILES.values(), _SCHEMA])}",
        *([f"The switches run {answers.nos}; --nos also takes {join_words(others)}."] if others else []),
        "You can change cluster.yaml freely until the first build writes fabricc.lock.",
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


_LONGEST_KEY = 4096
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Options:
    """The values of the options of `init`; None and () where they are missing."""

    cluster: str | None = None
    hosts: str | None = None
    count: int | None = None
    capacity: int | None = None
    switches: str | None = None
    nos: str | None = None
    hosts_per_unit: int | None = None
    networks: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    ssh_key: Path | None = None
    user: str | None = None


def read_options(given: Options, catalog: Catalog) -> Answers:
    """Return the answers that the options give, with defaults for the rest.

    Raises:
        click.UsageError: a value does not fit.
    """
    hosts = _host_model(given.hosts or DEFAULTS.hosts, catalog)
    switches = _switch_model(given.switches or DEFAULTS.switches, catalog)
    tenants = dict(_tenant(each) for each in given.tenants)
    count = sum(tenants.values()) if tenants else given.count or DEFAULTS.count
    if tenants and given.count not in (None, count):
        raise click.UsageError(_misfit(count, given.count or 0))
    networks = dict(_network(each, catalog) for each in given.networks)
    answers = Answers(
        cluster=_cluster(given.cluster or DEFAULTS.cluster),
        hosts=hosts,
        count=count,
        capacity=given.capacity or 2 * count,
        may_shrink=given.capacity is None,
        switches=switches,
        nos=given.nos or systems_of(catalog.switches[switches])[0],
        networks=networks,
        tenants=tenants,
        hosts_per_unit=given.hosts_per_unit or 0,
        user=_user(given.user or "netops") if given.ssh_key else "",
        ssh_key=_key(given.ssh_key) if given.ssh_key else "",
    )
    if answers.capacity < count:
        raise click.UsageError(f"--capacity {answers.capacity} is less than the {count} hosts at the start.")
    if answers.nos == INFINIBAND and (networks or tenants or given.ssh_key):
        raise click.UsageError(_ETHERNET_ONLY)
    if given.user and not given.ssh_key:
        raise click.UsageError("--user needs --ssh-key: accounts have no password.")
    if tenants and not _has_segments(answers):
        systems = " or ".join(SEGMENTS)
        raise click.UsageError(f"--tenant needs a front end on {systems}: add --network frontend=MODEL:NOS.")
    return answers


_ETHERNET_ONLY = (
    "InfiniBand switches have no accounts, and each further network of their hosts has a spec of its own "
    "(`fabricc docs networks`)."
)


def prompt_answers(catalog: Catalog) -> Answers:
    """Ask for the answers on the terminal, one after the other, each with a default."""
    output.out("Press Enter to accept the value in brackets; `fabricc catalog` lists the models.")
    cluster = _prompt("Name of the cluster", DEFAULTS.cluster, _cluster)
    hosts = _prompt("Host model", DEFAULTS.hosts, lambda text: _host_model(text, catalog))
    count = _prompt("Hosts at the start", str(DEFAULTS.count), _whole_number)
    capacity = _prompt(
        "Hosts that it can grow to", str(2 * count), lambda text: _at_least(_whole_number(text), count)
    )
    switches = _prompt("Switch model", DEFAULTS.switches, lambda text: _switch_model(text, catalog))
    systems = systems_of(catalog.switches[switches])
    nos = _prompt(
        f"Operating system ({', '.join(systems)})",
        systems[0],
        lambda text: _nos(text, catalog.switches[switches]),
    )
    answers = Answers(cluster, hosts, count, capacity, switches, nos)
    if nos == INFINIBAND:
        return answers
    networks = {}
    for name in NETWORKS:
        if name in catalog.hosts[hosts].networks and click.confirm(f"A network for {name}?", default=False):
            networks[name] = _prompt(
                "  its switches, MODEL:NOS", f"{switches}:{nos}", lambda text: _own_switches(text, catalog)
            )
    answers = replace(answers, networks=networks)
    if _has_segments(answers):
        tenants = _prompt(
            "Tenants as NAME=HOSTS,NAME=HOSTS, or none", "none", lambda text: _tenants(text, answers.count)
        )
        answers = replace(answers, tenants=tenants)
    key = _prompt("Public SSH key file of the first account, or none", "none", _key_or_none)
    return replace(answers, user="netops", ssh_key=key) if key else answers


def _prompt(question: str, default: str, convert: Callable[[str], _Value]) -> _Value:
    """Repeat the question until an answer is valid."""

    def check_answer(text: str) -> _Value:
        try:
            return convert(text.strip())
        except click.UsageError as error:
            raise click.BadParameter(error.message) from None

    answer: _Value = click.prompt(question, default=default, value_proc=check_answer)
    return answer


def _has_segments(answers: Answers) -> bool:
    """Return whether the front end has a system that writes the segments of tenants."""
    if "frontend" not in answers.networks:
        return False
    _, nos = answers.networks["frontend"]
    return (nos or answers.nos).partition("-")[0] in SEGMENTS


def _as_model(text: str) -> str:
    """Return a name in the spelling of the catalog: `HGX B300` is `hgx-b300`."""
    return "-".join(text.lower().split())


def _host_model(text: str, catalog: Catalog) -> str:
    text = _as_model(text) if _as_model(text) in catalog.hosts else text
    if text not in catalog.hosts:
        raise click.UsageError(_report_unknown("host", text, catalog.hosts))
    if not catalog.hosts[text].gpus:
        raise click.UsageError(
            f"{text} has no GPUs. Take a model with GPUs; add such hosts to the spec later."
        )
    return text


def _switch_model(text: str, catalog: Catalog) -> str:
    text = _as_model(text) if _as_model(text) in catalog.switches else text
    if text not in catalog.switches:
        raise click.UsageError(_report_unknown("switch", text, catalog.switches))
    if not systems_of(catalog.switches[text]):
        raise click.UsageError(f"no system of fabricc runs on {text}. `fabricc catalog {text}` shows why.")
    return text


def _report_unknown(kind: str, text: str, names: Mapping[str, object]) -> str:
    return f"no {kind} model {text!a} in the catalog. {suggest_name(text, names)}"


def _cluster(text: str) -> str:
    return _matching(text, load_schema("cluster")["properties"]["cluster"])


def _nos(text: str, model: SwitchModel) -> str:
    """Return a system, with or without a release, that runs on the switch."""
    schema = load_schema("cluster")["$defs"]["nos"]
    if not re.search(schema["pattern"], text) and (help_ := explain_system(text)):
        raise click.UsageError(f"{text!a} is not {schema['patternErrorMessage']}. {help_}")
    name, _, release = _matching(text, schema).partition("-")
    systems = sorted({each.partition("-")[0] for each in systems_of(model)})
    if name not in systems:
        help_ = explain_system(text) if name not in back_ends.list_names() else ""
        help_ = help_ or f"Systems: {', '.join(systems)}."
        raise click.UsageError(f"{name} does not run on {model.name}. {help_}")
    if name == INFINIBAND:
        return text
    releases = back_ends.load(name).releases
    build = find_flavor(name, release)
    if release and not build and release not in releases and not nearest_release(release, releases):
        help_ = explain_release(name, release) or f"Known: {', '.join(releases)}."
        raise click.UsageError(f"{name} has no release {release!a}. {help_}")
    return text


def _user(text: str) -> str:
    return _matching(text, _account()["name"])


def _account() -> Mapping[str, Mapping[str, str]]:
    users = load_schema("cluster")["properties"]["management"]["properties"]["users"]
    found: Mapping[str, Mapping[str, str]] = users["items"]["properties"]
    return found


def _matching(text: str, schema: Mapping[str, str]) -> str:
    """Return a text that the schema of the spec accepts."""
    if not re.search(schema["pattern"], text):
        raise click.UsageError(f"{text!a} is not {schema['patternErrorMessage']}.")
    return text


def _whole_number(text: str) -> int:
    if not is_number(text) or not 1 <= int(text) <= 65536:
        raise click.UsageError(f"{text!a} is not a whole number from 1 to 65536.")
    return int(text)


def _at_least(number: int, least: int) -> int:
    if number < least:
        raise click.UsageError(f"{number} is less than the {least} hosts at the start.")
    return number


def _network(text: str, catalog: Catalog) -> tuple[str, tuple[str, str]]:
    """Return name, switch model and system of `NAME` or `NAME=MODEL:NOS`."""
    name, _, switches = text.partition("=")
    if name not in NETWORKS:
        raise click.UsageError(f"no network {name!a}. Host models have ports for {' and '.join(NETWORKS)}.")
    return name, _own_switches(switches, catalog) if switches else ("", "")


def _own_switches(text: str, catalog: Catalog) -> tuple[str, str]:
    """Return switch model and system of `MODEL:NOS` or `MODEL`."""
    model, _, nos = text.partition(":")
    model = _switch_model(model, catalog)
    switch = catalog.switches[model]
    if INFINIBAND in switch.nos:
        raise click.UsageError(
            f"{model} is InfiniBand: such a network has a spec of its own (`fabricc docs networks`)."
        )
    return model, _nos(nos, switch) if nos else systems_of(switch)[0]


def _tenant(text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    return _matching(name, load_schema("cluster")["$defs"]["name"]), _whole_number(count)


def _tenants(text: str, count: int) -> dict[str, int]:
    if text == "none":
        return {}
    tenants = dict(_tenant(each.strip()) for each in text.split(","))
    if sum(tenants.values()) != count:
        raise click.UsageError(_misfit(sum(tenants.values()), count))
    return tenants


def _misfit(tenants: int, count: int) -> str:
    """Return why tenants with so many hosts do not fit, and what to do."""
    problem = f"the tenants have {tenants} hosts together, not {count}"
    if tenants < count:
        return f"{problem}. Give the other {count - tenants} to a tenant, or ask for {tenants} hosts."
    return f"{problem}. Give the tenants fewer, or ask for {tenants} hosts."


def _key_or_none(text: str) -> str:
    return "" if text == "none" else _key(Path(text))


def _key(path: Path) -> str:
    """Return the public key of a file, without what the spec does not take."""
    try:
        text = files.read(path, limit=_LONGEST_KEY).decode("ascii").strip()
    except (OSError, ValueError):
        raise click.UsageError(f"{path} cannot be read as a public key.") from None
    if "PRIVATE" in text:
        raise click.UsageError(f"{path} is a private key. Name the public one, which ends in .pub.")
    schema = _account()["ssh_key"]
    if not re.search(schema["pattern"], text):  # the message leaves out the text, which may be a secret
        raise click.UsageError(f"{path} is not {schema['patternErrorMessage']}.")
    return text
