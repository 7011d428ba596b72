"""Our compilation of templates prints what jinja2's own prints, whatever stands in them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, StrictUndefined, UndefinedError
from jinja2.compiler import CodeGenerator

from fabricc.back.nos.sandbox import AttributeTemplates, JoinedTemplates

OURS = (JoinedTemplates, AttributeTemplates)
VIEW = SimpleNamespace(name="100%", mtu=None, ports=[SimpleNamespace(name="%s"), SimpleNamespace(name="")])


def make_environment(generator: type[CodeGenerator]) -> Environment:
    made = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    made.code_generator_class = generator
    return made


@pytest.mark.parametrize("generator", OURS)
@pytest.mark.parametrize(
    "template",
    [
        "plain 100 % text, %s and %(name)s\n",
        "{{ view.name }}",
        "a {{ view.name }} b {{ view.name | length }}{{ 1 + 1 }} %d {{ 'constant %' }} c",
        "{% if view.mtu is none %}no mtu {{ view.name }}{% endif %}",
        "{% if view.mtu is not none %}mtu{% else %}{{ view.mtu }} % {{ view.mtu is none }}{% endif %}",
        "{% for port in view.ports %}{{ loop.index }} %{{ port.name }}%\n{% endfor %}",
        "{% set text %}x {{ view.name }} %{% endset %}{{ text }} {{ text | upper }}",
        "{% macro said(port) %}<{{ port.name }} %>{% endmacro %}{{ said(view.ports[0]) }} {{ said(view) }}",
        "{% block one %}1 {{ view.name }} 2{% endblock %}",
        "{{ 'up' if view.mtu is none else 'down' }} {{ view.ports[0].name ~ '%' }}",
        "{{ view.ports | map(attribute='name') | list }} %",
        "{% for port in view.ports %}{% if port.name %}{% else %}%{% endif %}{% else %}none{% endfor %}",
        "{% for port in view.ports %}{% endfor %}{% if view.mtu %}{% endif %}",
        "{% if view.mtu %}1{% elif view.name %}2 {{ view.name }}{% if view.ports %} %{% endif %}{% else %}3{% endif %}",
        "{% if view.name %}{% set name = view.name %}a{% if name %}{{ name }}{% endif %}{% endif %} b {{ 1 }}",
    ],
)
def test_every_construct_prints_the_same(generator: type[CodeGenerator], template: str) -> None:
    expected = make_environment(CodeGenerator).from_string(template).render(view=VIEW)
    assert make_environment(generator).from_string(template).render(view=VIEW) == expected


@pytest.mark.parametrize("generator", OURS)
@given(
    pieces=st.lists(
        st.tuples(st.text(alphabet="ab %s{\\'\"\n\u00e9"), st.one_of(st.integers(), st.text(), st.none()))
    )
)
def test_any_text_around_any_value_prints_the_same(
    generator: type[CodeGenerator], pieces: list[tuple[str, object]]
) -> None:
    texts = [text.replace("{", "") for text, _ in pieces]
    template = "".join(f"{text}{{{{ values.v{at} }}}}" for at, text in enumerate(texts))
    values = SimpleNamespace(**{f"v{at}": value for at, (_, value) in enumerate(pieces)})
    expected = make_environment(CodeGenerator).from_string(template).render(values=values)
    assert make_environment(generator).from_string(template).render(values=values) == expected


def test_undefined_template_name_raises() -> None:
    for generator in OURS:
        with pytest.raises(UndefinedError, match="nobody"):
            make_environment(generator).from_string("a {{ nobody }} b").render()


def test_template_attributes_follow_python_semantics() -> None:
    made = make_environment(AttributeTemplates)
    with pytest.raises(AttributeError, match="name"):
        made.from_string("a {{ view.name }} b").render(view={"name": "a key is no attribute"})
    assert made.from_string("{{ view.class }}").render(
        view=SimpleNamespace(**{"class": "a word of Python's"})
    ) == ("a word of Python's")
