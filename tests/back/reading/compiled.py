"""All rows of a reader: they compile at the first use, so a test compiles all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.back.reading.trie import State


def compiled_blocks(start: State) -> int:
    """Return how many blocks there are below a state, all rows compiled."""
    stack, met = [start], set[int]()
    count = 0
    while stack:
        state = stack.pop()
        if id(state) in met:
            continue
        met.add(id(state))
        for word in [*state.later]:
            state.open_block(word)
        stack += [*state.words.values(), *(after for _, after in state.captures.values())]
        stack += [state.rest] if state.rest else []
        if state.inner is not None:
            count += 1
            stack.append(state.inner.state)
    return count
