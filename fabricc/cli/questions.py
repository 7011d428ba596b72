"""The answers that `fabricc init` needs, from its options or from questions on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from fabricc.base.documents.schema import load_schema
from fabricc.base.foreign import files
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.catalog.names import did_you_mean
from fabricc.cli import output
from fabricc.cli.first_spec import DEFAULTS, NETWORKS, SEGMENTS, Answers, systems_of

if TYPE_CHECKING:
    from fabricc.catalog.model import Catalog

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
        raise click.UsageError(f"--count is {given.count}, but the tenants have {count} hosts together.")
    networks = dict(_network(each, catalog) for each in given.networks)
    answers = Answers(
        cluster=_cluster(given.cluster or DEFAULTS.cluster),
        hosts=hosts,
        count=count,
        capacity=given.capacity or 2 * count,
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
    if given.user and not given.ssh_key:
        raise click.UsageError("--user needs --ssh-key: accounts have no password.")
    if tenants and not _has_segments(answers):
        systems = " or ".join(SEGMENTS)
        raise click.UsageError(f"--tenant needs a front end on {systems}: add --network frontend=MODEL:NOS.")
    return answers


def ask(catalog: Catalog) -> Answers:
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
    nos = _prompt(f"Operating system ({', '.join(systems)})", systems[0], _nos)
    answers = Answers(cluster, hosts, count, capacity, switches, nos)
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


def _host_model(text: str, catalog: Catalog) -> str:
    if text not in catalog.hosts:
        raise click.UsageError(_report_unknown("host", text, catalog.hosts))
    if not catalog.hosts[text].gpus:
        raise click.UsageError(
            f"{text} has no GPUs. Take a model with GPUs; add such hosts to the spec later."
        )
    return text


def _switch_model(text: str, catalog: Catalog) -> str:
    if text not in catalog.switches:
        raise click.UsageError(_report_unknown("switch", text, catalog.switches))
    if not systems_of(catalog.switches[text]):
        raise click.UsageError(f"no system of fabricc runs on {text}. `fabricc catalog {text}` shows why.")
    return text


def _report_unknown(kind: str, text: str, names: Mapping[str, object]) -> str:
    near = did_you_mean(text, names)
    return f"no {kind} model {text!a} in the catalog. {near or 'Run `fabricc catalog` for the list.'}"


def _cluster(text: str) -> str:
    return _matching(text, load_schema("cluster")["properties"]["cluster"])


def _nos(text: str) -> str:
    return _matching(text, load_schema("cluster")["$defs"]["nos"])


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
    return model, _nos(nos) if nos else systems_of(catalog.switches[model])[0]


def _tenant(text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    return _matching(name, load_schema("cluster")["$defs"]["name"]), _whole_number(count)


def _tenants(text: str, count: int) -> dict[str, int]:
    if text == "none":
        return {}
    tenants = dict(_tenant(each.strip()) for each in text.split(","))
    if sum(tenants.values()) != count:
        raise click.UsageError(f"the tenants have {sum(tenants.values())} hosts together, not {count}.")
    return tenants


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
