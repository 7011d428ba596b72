"""Juniper's own YANG models accept every statement that is written, and refuse what is wrong.

Class of service and forwarding options of these switches are in the models of the QFX series, everything else is in
those of Junos OS Evolved. Models and `yanglint` (Debian `libyang2-tools`) are used where they are.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fabricc.nos.junos import FILE, JUNOS
from tests.nos.junos.netconf import as_xml
from tests.nos.junos.variants import VARIANTS, variant

MODELS = Path(__file__).parents[4] / "shared" / "validators" / "junos-yang"
QFX = {"class-of-service", "forwarding-options"}
pytestmark = [
    pytest.mark.skipif(shutil.which("yanglint") is None, reason="yanglint (libyang2-tools) is not installed"),
    pytest.mark.skipif(not MODELS.is_dir(), reason="Juniper's YANG models are not beside the checkout"),
]
PARTS = {
    "evo": ("root", "system", "chassis", "interfaces", "policy-options", "routing-instances", "routing-options",
            "protocols"),
    "qfx": ("root", "class-of-service", "forwarding-options"),
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


def complaints(models: Path, tree: str, texts: dict[str, str], folder: Path) -> list[str]:
    """What yanglint says about these configurations, in one run."""
    namespace = "http://yang.juniper.net/" + ("junos-qfx/conf" if tree == "qfx" else "junos/conf")
    files = []
    for name, text in texts.items():
        file = folder / f"{tree}-{name}.xml"
        chosen = {"only": QFX} if tree == "qfx" else {"without": frozenset(QFX)}
        file.write_text(as_xml(text, namespace, **chosen), encoding="utf-8")  # type: ignore[arg-type]
        files.append(str(file))
    modules = [str(next((models / tree).glob(f"*conf-{part}@*.yang"))) for part in PARTS[tree]]
    command = ["yanglint", "-i", "-p", str(models / tree), *modules, "-t", "config", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    found = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("libyang err")]
    return found if found or not done.returncode else [f"exit {done.returncode}: {done.stderr[-400:]}"]


@pytest.mark.parametrize("tree", ["evo", "qfx"])
def test_the_models_accept_every_variant(tree: str, models: Path, tmp_path: Path) -> None:
    texts = {name: JUNOS.render(variant(name))[FILE] for name in VARIANTS}
    assert complaints(models, tree, texts, tmp_path) == []


FAULTS = {
    "evo": {
        "a misspelled word": ("multiple-as;", "multiple-ass;"),
        "a speed that there is not": ("speed 400g", "speed 401g"),
        "a step that there is not": ("next policy", "next statement"),
        "a width between two steps": ("maximum-ecmp 64", "maximum-ecmp 65"),
    },
    "qfx": {
        "a fill level beyond the whole": ("fill-level [ 2 6 ]", "fill-level [ 2 106 ]"),
        "a priority of four bits": ("pfc-priority 3", "pfc-priority 8"),
        "an action that there is not": ("watchdog-action drop", "watchdog-action stop"),
        "a threshold beyond the last": ("dynamic-threshold 7", "dynamic-threshold 11"),
    },
}


@pytest.mark.parametrize("tree", ["evo", "qfx"])
def test_the_models_refuse_what_is_wrong(tree: str, models: Path, tmp_path: Path) -> None:
    text = JUNOS.render(variant("evo-numbered"))[FILE]
    for fault, (right, wrong) in FAULTS[tree].items():
        assert re.search(re.escape(right), text), fault
        assert complaints(models, tree, {"planted": text.replace(right, wrong)}, tmp_path), fault
