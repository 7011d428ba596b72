"""Who has seen one back end knows all: modules of one name hold one idea, by the table of the architecture."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from fabricc.back.nos import BUILT_IN

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"\| `(\w+)` \| ([\w, ]+) \| (.+) \|")
TOPICS = ("interfaces", "qos", "bgp", "services")


def declared() -> dict[str, frozenset[str]]:
    """Return room -> the systems that have it, from the documentation."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = [found for line in text.splitlines() if (found := ROW.fullmatch(line))]
    every = frozenset(BUILT_IN)
    return {
        room: every if who == "all" else frozenset(who.split(", "))
        for room, who, _ in map(re.Match.groups, rows)
    }


def there(nos: str) -> set[str]:
    """The modules of a back end."""
    return {path.stem for path in (ROOT / "fabricc" / "back" / "nos" / nos).glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("nos", BUILT_IN)
def test_every_module_of_a_back_end_is_a_room_of_the_table(nos: str) -> None:
    assert there(nos) == {room for room, who in declared().items() if nos in who}


def test_topics_are_rooms_of_all() -> None:
    assert {"words", "limits", *TOPICS} <= {
        room for room, who in declared().items() if who == frozenset(BUILT_IN)
    }


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("nos", BUILT_IN)
def test_a_topic_says_what_it_makes_of_the_fabric(nos: str, topic: str) -> None:
    module = import_module(f"fabricc.back.nos.{nos}.{topic}")
    if (nos, topic) == ("frr", "qos"):  # Linux on a switch has no words for any of it
        assert module.DEPARTURES
    else:
        assert callable(module.state)
