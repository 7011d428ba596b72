"""Match a line against the trie of a back end's rows: find its effect and the blocks that contain it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.reading.trie import Effect, Match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.back.reading.rows import Captured, Captures
    from fabricc.back.reading.trie import InnerBlock, Key, State

    Way = tuple[State, Captures, tuple[InnerBlock, ...]]
    """Possible end of a line, with its captures, and the blocks above it."""

UNKNOWN = Effect(None)


def match_line(start: State, key: Key, outer: Captures, *, joined: bool = False, leaf: bool = True) -> Effect:
    """Return the effect of a line in a state, below blocks with captures `outer`.

    Args:
        start: where the line begins.
        key: the line, see `Node`.
        outer: captures of the blocks around.
        joined: whether a block may be split at any word, as in braces and `set` lines.
        leaf: whether nothing is below the line.
    """
    words = key.split() if isinstance(key, str) else key
    below = joined and not leaf
    first = _match_directly(start, key, words, joined)
    found = _accept_end(*first, outer, joined, below) if first is not None else UNKNOWN
    if found.match is not None:
        return found
    for way in _match_all(start, key, words, joined):
        found = _accept_end(*way, outer, joined, below)
        if found.match is not None:
            return found
    return UNKNOWN


def fill_effect(match: Match, outer: Captures) -> Effect:
    """Return the effect of a matched line below blocks with these captures."""
    _, captures, inners, meaning = match
    if outer:
        captures = outer + captures
    opens: tuple[tuple[str, Captured, bool], ...] = ()
    for inner in inners:
        if inner.scope:
            opens += ((inner.scope, captures[inner.key] if inner.key >= 0 else "", inner.once),)
    if meaning is None:
        return Effect(match, opens)
    if meaning.alone is not None:
        return Effect(match, opens, (), ((meaning.alone, captures[-1]),), (), False, not opens)  # type: ignore[arg-type]
    value = meaning.capture(captures)
    if value is None:
        return UNKNOWN
    facts, keeps, entries = value
    return Effect(match, opens, facts, keeps, entries, False, not (opens or facts or entries))


def _accept_end(
    state: State,
    captures: Captures,
    inners: tuple[InnerBlock, ...],
    outer: Captures,
    joined: bool,
    below: bool,
) -> Effect:
    """Return the effect if the line may end in this state; `below`: it only leads to other lines."""
    meaning = None if below else state.meaning
    inner = state.inner
    if inner is not None and (joined or inner.below):
        inners = (*inners, inner)
    elif meaning is None and not below:
        return UNKNOWN
    found = Match(state, captures, inners, meaning)
    around = len(outer)
    if around:
        late = meaning is not None and meaning.first < around
        for each in inners:
            late = late or (each.scope != "" and 0 <= each.key < around)
        if late:
            return Effect(found, late=True)
    return fill_effect(found, outer)


def _rest_of_line(key: Key, at: int) -> str:
    return key.split(None, at)[at].rstrip() if isinstance(key, str) else " ".join(key[at:])


def _match_directly(state: State, key: Key, words: Sequence[str], joined: bool) -> Way | None:
    """Return the first result of `_match_all` if each word leaves one way, as most lines do."""
    captures: list[Captured] = []
    inners: tuple[InnerBlock, ...] = ()
    for at, word in enumerate(words):
        following = state.words.get(word)
        if following is None and state.inner is not None and at and (joined or state.inner.inline):
            inners += (state.inner,)
            state = state.inner.state
            following = state.words.get(word)
        if following is None and state.later:
            following = state.open_block(word)
        if following is None:
            for kind, behind in state.captures.values():
                value = word if kind is None else kind(word)
                if value is not None:
                    captures.append(value)
                    following = behind
                    break
            else:
                if state.rest is None:
                    return None
                return state.rest, (*captures, _rest_of_line(key, at)), inners
            if following.repeats is not None:
                return None
        state = following
    return state, tuple(captures), inners


def _match_all(start: State, key: Key, words: Sequence[str], joined: bool) -> Iterator[Way]:
    """Yield every match of a line from a state; literal words come before captures."""
    stack: list[tuple[State, int, Captures, tuple[InnerBlock, ...]]] = [(start, 0, (), ())]
    while stack:
        state, at, captures, inners = stack.pop()
        if at == len(words):
            yield state, captures, inners
            continue
        word = words[at]
        if state.rest is not None:
            stack.append((state.rest, len(words), (*captures, _rest_of_line(key, at)), inners))
        if captures and state.repeats is not None and (value := state.repeats(word)) is not None:
            several = (*captures[-1], value)  # type: ignore[misc]
            stack.append((state, at + 1, (*captures[:-1], several), inners))
        for kind, following in reversed(state.captures.values()):
            value = word if kind is None else kind(word)
            if value is not None:
                captured = (value,) if following.repeats else value
                stack.append((following, at + 1, (*captures, captured), inners))  # type: ignore[arg-type]
        inner = state.inner
        if inner is not None and at and (joined or inner.inline):
            stack.append((inner.state, at, captures, (*inners, inner)))
        named = state.words.get(word) or state.open_block(word)
        if named is not None:
            stack.append((named, at + 1, captures, inners))
