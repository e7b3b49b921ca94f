"""The request for a summary: the conversation as it is, with one message behind it (R025, R311).

Decides which prefixes are tried: the whole one, whose bytes the cache holds, and when that is too long the same without its oldest rounds, a fixed
number of times (F26). Sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.types.blocks import TextBlock
from compositor.types.entries import Origin, TranscriptEntry, UserEntry

from .cut import cut_places, entry_tokens

SHARES = (3 / 4, 1 / 2, 1 / 4)
"""What is left of the conversation in each further try."""

_LEFT_OUT = "[The oldest part of this conversation is left out here: it does not fit.]"


def asking_prefixes(prefix: Prefix, ask: str, *, id: str, time: str, fits: bool) -> Iterator[Prefix]:
    """The prefixes to ask with, the best first. `fits`: the whole conversation is believed to fit beside a summary."""
    if fits:
        yield extend(prefix, (_message(ask, id, time, prefix.leaf),))
    entries = tuple(prefix.entries)
    for start in _starts(entries):
        fresh = empty_prefix(prefix.head, prefix.facts, prefix.wire, prefix.events)
        first = _message(_LEFT_OUT, f"{id}-left-out", time, None)
        kept = entries[start:]
        last = kept[-1].uuid if kept else first.uuid
        yield extend(fresh, (first, *kept, _message(ask, id, time, last)))


def _starts(entries: Sequence[TranscriptEntry]) -> list[int]:
    """For each share the first legal cut behind which at most that share of the conversation stands."""
    sizes = [entry_tokens(entry) for entry in entries]
    places = (*cut_places(entries), len(entries))
    found: list[int] = []
    for share in SHARES:
        room = sum(sizes) * share
        start = next(place for place in places if sum(sizes[place:]) <= room)
        if start not in found:
            found.append(start)
    return found


def _message(text: str, id: str, time: str, parent: str | None) -> UserEntry:
    return UserEntry(
        uuid=id, parent=parent, time=time, content=(TextBlock(text),), origin=Origin.UNCLASSIFIED, is_meta=True
    )
