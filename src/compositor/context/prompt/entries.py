"""Entries of the two contexts: a key and attributed text.

Decides the shape that system context and user context share, so that an entry can move from one to the other (R105).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs

from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source


class ContextEntry(Struct, frozen=True, kw_only=True):
    """One entry. `fragments` make its value, in order, without a heading; an entry without fragments does not exist."""

    key: str
    fragments: tuple[Fragment, ...]


def context_fragment(text: str, name: str, lane: Lane, gate: str) -> Fragment:
    """Text of our own in a context; `name` says which part."""
    return Fragment(text, Attribution(Source("context", name), lane, Lifetime.SESSION, gate))


def in_lane(fragments: Iterable[Fragment], lane: Lane) -> tuple[Fragment, ...]:
    """The same text from the same sources, carried by `lane`."""
    return tuple(Fragment(fragment.text, structs.replace(fragment.origin, lane=lane)) for fragment in fragments)
