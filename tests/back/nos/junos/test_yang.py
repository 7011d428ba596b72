"""Juniper's own YANG models accept every statement that is written, and refuse what is wrong.

Chassis, class of service and forwarding options of these switches are in the models of the QFX series, everything else
is in those of Junos OS Evolved; packet filters are judged by both. Models and `yanglint` (Debian `libyang2-tools`) are
used where they are.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fabricc.back.nos.junos import FILE, JUNOS
from tests import outward, tenanted
from tests.back.nos.junos.netconf import as_xml
from tests.back.nos.junos.variants import VARIANTS, variant

MODELS = Path(__file__).parents[5] / "shared" / "validators" / "junos-yang"
pytestmark = [
    pytest.mark.skipif(shutil.which("yanglint") is None, reason="yanglint (libyang2-tools) is not installed"),
    pytest.mark.skipif(not MODELS.is_dir(), reason="Juniper's YANG models are not beside the checkout"),
]
SECTIONS = {
    "evo": ("system", "security", "interfaces", "snmp", "policy-options", "firewall", "routing-instances",
            "routing-options", "protocols"),
    "qfx": ("chassis", "class-of-service", "forwarding-options", "firewall"),
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the models with the two spellings mended that libyang 2.1 does not read."""
    folder = tmp_path_factory.mktemp("models")
    for source in MODELS.glob("*/*.yang"):
        text = source.read_text(encoding="utf-8")
        text = text.replace('pattern "*"', 'pattern "[*]"').replace("\\*", "*")
        target = folder / source.parent.name / source.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


def find_complaints(
    models: Path, tree: str, texts: dict[str, str], folder: Path, sections: tuple[str, ...]
) -> list[str]:
    """Return the output of yanglint for these sections of these configurations, in one run."""
    namespace = "http://yang.juniper.net/" + ("junos-qfx/conf" if tree == "qfx" else "junos/conf")
    files = []
    for name, text in texts.items():
        file = folder / f"{tree}-{name}.xml"
        file.write_text(as_xml(text, namespace, set(sections)), encoding="utf-8")
        files.append(str(file))
    modules = [str(next((models / tree).glob(f"*conf-{part}@*.yang"))) for part in ("root", *sections)]
    command = ["yanglint", "-i", "-p", str(models / tree), *modules, "-t", "config", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    found = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("libyang err")]
    return found if found or not done.returncode else [f"exit {done.returncode}: {done.stderr[-400:]}"]


@pytest.mark.slow
@pytest.mark.parametrize("tree", SECTIONS)
def test_the_models_accept_every_variant_and_ways_out(tree: str, models: Path, tmp_path: Path) -> None:
    texts = {name: JUNOS.render(variant(name))[FILE] for name in VARIANTS}
    texts |= {f"outward-{at}": JUNOS.render(each)[FILE] for at, each in enumerate(outward.switches("junos"))}
    texts |= {f"tenants-{at}": JUNOS.render(each)[FILE] for at, each in enumerate(tenanted.switches("junos"))}
    assert find_complaints(models, tree, texts, tmp_path, SECTIONS[tree]) == []


def test_no_section_is_left_unjudged() -> None:
    written = {
        line.removesuffix(" {")
        for name in VARIANTS
        for line in JUNOS.render(variant(name))[FILE].splitlines()
        if line[0] not in " }"
    }
    assert written == {section for sections in SECTIONS.values() for section in sections}


FAULTS = [
    ("evo", "protocols", "multiple-as;", "multiple-ass;"),
    ("evo", "protocols", "            ttl 255;", "            ttl 254;"),
    ("evo", "protocols", "min-advertisement-interval 3", "min-advertisement-interval 2"),
    ("evo", "protocols", "advertisement-interval 10", "advertisement-interval 40000"),
    ("evo", "interfaces", "speed 400g", "speed 401g"),
    ("evo", "policy-options", "next policy", "next statement"),
    ("evo", "routing-options", "ecmp-fast-reroute", "ecmp-fast-reroutes"),
    ("qfx", "chassis", "maximum-ecmp 64", "maximum-ecmp 65"),
    ("qfx", "chassis", "buffer-monitor-enable", "buffer-monitor"),
    ("evo", "firewall", "hop-limit-except 255", "ttl-except 255"),
    ("evo", "snmp", "authorization read-only", "authorization read"),
    ("evo", "system", "[ tacplus password ]", "[ tacacs password ]"),
    ("evo", "system", "[ login change-log", "[ logins change-log"),
    ("qfx", "firewall", "ttl-except 255", "ttls-except 255"),
    ("qfx", "class-of-service", "fill-level [ 2 6 ]", "fill-level [ 2 106 ]"),
    ("qfx", "class-of-service", "percent 15", "percent 14"),
    ("qfx", "class-of-service", "transmit-rate percent 5;", "transmit-rate percent 105;"),
    ("qfx", "class-of-service", "shaping-rate percent 5;", "shaping-rate percent 105;"),
    ("evo", "protocols", "    rstp {", "    rstps {"),
    ("evo", "protocols", "    precision-timers;", "    precise-timers;"),
    ("evo", "firewall", "tcp-established;", "tcp-open;"),
    ("qfx", "class-of-service", "pfc-priority 3", "pfc-priority 8"),
    ("qfx", "class-of-service", "watchdog-action drop", "watchdog-action stop"),
    ("qfx", "class-of-service", "dynamic-threshold 7", "dynamic-threshold 11"),
    ("qfx", "forwarding-options", "flowlet {", "flowlets {"),
    ("qfx", "forwarding-options", "hash-seed 2654435769", "hash-seed 5000000000"),
]
FIRST = [*{(tree, section): (tree, section, *words) for tree, section, *words in reversed(FAULTS)}.values()]
"""The first of every section that is judged."""


@pytest.mark.parametrize(
    ("tree", "section", "right", "wrong"),
    [*FIRST, *(pytest.param(*fault, marks=pytest.mark.slow) for fault in FAULTS if fault not in FIRST)],
)
def test_the_models_refuse_what_is_wrong(
    tree: str, section: str, right: str, wrong: str, models: Path, tmp_path: Path
) -> None:
    name = "evo-settings"
    if "advertisement-interval 3" in right:
        name = "evo-unnumbered"
    elif "shaping" in right or "precision" in right:
        name = "classic-settings"
    text = JUNOS.render(variant(name))[FILE]
    assert right in text
    assert find_complaints(models, tree, {"planted": text.replace(right, wrong)}, tmp_path, (section,))
