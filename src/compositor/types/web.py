"""A search of the web as values: what is looked for, and what was found.

Decides the shapes that cross a folder line. Never asks anybody.
"""

from __future__ import annotations

from msgspec import Struct


class WebQuery(Struct, frozen=True, kw_only=True):
    """`allowed` are the only domains to look at, `blocked` those to leave out; at most one of the two is given."""

    query: str
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class WebHit(Struct, frozen=True, kw_only=True):
    """One page that was found. `age` is what the service says of it, in its own words."""

    title: str
    url: str
    age: str = ""


class WebFound(Struct, frozen=True, kw_only=True):
    """The pages of all searches of one question, and what was said about them; or why there is nothing.

    `searches` counts what was really searched.
    """

    hits: tuple[WebHit, ...] = ()
    text: str = ""
    searches: int = 0
    problem: str = ""
