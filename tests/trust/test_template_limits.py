"""Templates of the user's own: no file outside their folder, and no time, memory or output without a limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import child_process, templating
from fabricc.back.nos.templating import (
    TemplateFaultError,
    render_bounded,
    set_template_path,
    template_environment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "CANARY-OF-ANOTHER-FOLDER"
LONG = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{{ 9 ** (9 ** 9) }}",
    "{% set x = 7 ** (7 ** 9) %}",
    "{% autoescape 9 ** (9 ** 9) %}{% endautoescape %}",
    "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{% for a in range(99999) %}{% for b in range(99999) %}"
    "{{ a }}{% endfor %}{% endfor %}",
    "{{ range(99999) | map('string') | map('indent', 9) | map('wordwrap', 1) | list | length }}"
    "{% for a in range(99999) %}{{ ('x ' * (9999 + a)) | wordwrap(1) | length }}{% endfor %}",
    "{{ 'a' | slice(10 ** 9) | list | length }}",
    "{{ lipsum(n=1000000) | length }}",
]
LARGE = [
    "{{ 'x' * 10 ** 10 }}", "{{ '%1000000000d' % 1 }}", "{{ '%s'.__mul__ }}{{ 'x' | center(10 ** 9) }}",
    "{{ (['a' * 10 ** 6] * 100000) | join }}", "{{ ('a\\n' * 100000) | indent(100000) }}",
    "{{ '{:1000000000}'.format(1) }}", "{{ [0] * 10 ** 9 }}", "{{ 'x' | format(1) }}{{ ('x' * 10 ** 9) | upper }}",
    "{% set x = ['a' * 10 ** 8] * 9 %}{{ x | join('b') }}", "{{ ('a' * 10 ** 5) | replace('a', 'b' * 10 ** 5) }}",
    "{{ 'x'.ljust(10 ** 10) }}", "{{ '%*d' % (10 ** 9, 1) }}",
]  # fmt: skip

UNCOMPILABLE = {
    "{{ 10 ** 5000 }}": "4300 digits",
    "{% if 10 ** 5000 %}{% endif %}": "4300 digits",
    "{{ " + "9" * 5000 + " }}": "4300 digits",
    "{{ 0x" + "f" * 5000 + " }}": "4300 digits",
    "{% for a in [1] %}" * 30 + "{% endfor %}" * 30: "nested blocks",
    "{% if a is defined %}" * 200 + "{% endif %}" * 200: "levels of indentation",
    "{% macro m(a, a) %}{% endmacro %}": "duplicate argument",
    "{{ dict(x=1, x=2) }}": "keyword argument repeated",
}
"""Expressions that Jinja accepts and Python rejects -> a part of the reason."""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(child_process, "CPU_S", 1)
    monkeypatch.setattr(child_process, "_GRACE_S", 1)
    (tmp_path / "own/eos").mkdir(parents=True)
    yield tmp_path / "own/eos/one.j2"
    set_template_path([])


def render_text(own: Path, text: str) -> dict[str, str]:
    own.write_text(text)
    set_template_path([own.parent.parent])
    return render_bounded(lambda: {"one": template_environment("eos").get_template("one.j2").render()})


def raised_fault(own: Path, text: str) -> templating.Fault:
    with pytest.raises(TemplateFaultError) as failed:
        render_text(own, text)
    return failed.value.fault


@pytest.mark.spread
@pytest.mark.parametrize("text", LONG)
def test_time_ends(own: Path, text: str) -> None:
    began = time.process_time()
    found = raised_fault(own, f"a\n{text}\n")
    assert "5 s of CPU time" in found.message or "256 MiB" in found.message
    assert found.file == str(own) or found.file == str(own.parent.parent)
    assert time.process_time() - began < child_process.CPU_S, "the work is another process's"


@pytest.mark.spread
@pytest.mark.parametrize("text", LARGE)
def test_memory_ends(own: Path, text: str) -> None:
    found = raised_fault(own, f"a\n{text}\n")
    assert any(limit in found.message for limit in ("256 MiB", "5 s of CPU", "16 MiB", "no attribute", "no filter",
               "unsafe", "not all arguments")), found.message  # fmt: skip


@pytest.mark.parametrize("text", UNCOMPILABLE)
def test_uncompilable_template_is_a_template_fault(own: Path, text: str) -> None:
    found = raised_fault(own, f"a\n{text}\n")
    assert found.file == str(own)
    assert UNCOMPILABLE[text] in found.message


def test_a_limit_is_reported_with_its_line(own: Path) -> None:
    found = raised_fault(
        own, "a\nb\n{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}\n{% endfor %}\n"
    )
    assert (found.file, found.message) == (str(own), "it takes more than 5 s of CPU time")
    assert found.line in (3, 4)
    found = raised_fault(own, "a\nb\n{% set n = 10 ** 9 %}{{ 'x' * n }}\n")
    assert (found.file, found.line, found.message) == (str(own), 3, "it needs more than 256 MiB of memory")


def test_output_ends(own: Path) -> None:
    found = raised_fault(own, "{% for a in range(20000) %}{{ 'x' * 1000 }}{% endfor %}")
    assert found.message == "it prints more than 16 MiB"
    assert len(render_text(own, "{% for a in range(5000) %}{{ 'x' * 1000 }}{% endfor %}")["one"]) == 5_000_000


def test_recursion_ends(own: Path) -> None:
    found = raised_fault(own, "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
    assert found.message == "it includes or calls itself without end"


def test_templates_compiled_by_a_child_are_reused(own: Path) -> None:
    assert render_text(own, "{{ 1 + 1 }}\n") == {"one": "2\n"}
    kept = template_environment("eos").get_template("one.j2")
    assert template_environment("eos").get_template("one.j2") is kept
    assert kept.name in [name for _, name in template_environment("eos").cache or ()]
    assert not child_process.is_child()


def test_an_error_that_is_no_templates_is_distinguished(own: Path) -> None:
    own.write_text("")
    set_template_path([own.parent.parent])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        render_bounded(lambda: {"x": str(1 // 0)})


@pytest.mark.parametrize("word", ["include", "import", "extends", "from"])
@pytest.mark.parametrize("kind", ["absolute", "climbing", "link", "linked folder", "double", "dot"])
def test_a_template_reaches_no_file_of_another_folder(
    own: Path, tmp_path: Path, word: str, kind: str
) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "secret.j2").write_text(CANARY)
    (tmp_path / ".git").mkdir()
    (own.parent / "link.j2").symlink_to(other / "secret.j2")
    (own.parent / "folder").symlink_to(other)
    name = {
        "absolute": f"{other}/secret.j2", "climbing": "../../other/secret.j2", "link": "link.j2",
        "linked folder": "folder/secret.j2", "double": f"/{other}/secret.j2", "dot": "./../../other/secret.j2",
    }[kind]  # fmt: skip
    line = {
        "include": f'{{% include "{name}" %}}', "import": f'{{% import "{name}" as x %}}{{{{ x }}}}',
        "extends": f'{{% extends "{name}" %}}', "from": f'{{% from "{name}" import x %}}{{{{ x }}}}',
    }[word]  # fmt: skip
    found = raised_fault(own, line)
    assert "no template" in found.message or "symbolic link" in found.message
    assert CANARY not in found.message


def test_a_template_that_is_a_link_out_is_refused(own: Path, tmp_path: Path) -> None:
    (tmp_path / "other.j2").write_text(CANARY)
    own.symlink_to(tmp_path / "other.j2")
    set_template_path([own.parent.parent])
    with pytest.raises(OSError, match="symbolic link"):
        templating.override_digests()
    with pytest.raises(TemplateFaultError) as failed:
        render_bounded(lambda: {"one": template_environment("eos").get_template("one.j2").render()})
    assert "symbolic link" in failed.value.fault.message


def test_a_link_inside_the_folder_is_followed(own: Path) -> None:
    (own.parent / "two.j2").write_text("two")
    (own.parent / "three.j2").symlink_to("two.j2")
    assert render_text(own, '{% include "three.j2" %}') == {"one": "two"}
