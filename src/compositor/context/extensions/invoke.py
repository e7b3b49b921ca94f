"""A skill that is invoked: what a person typed, and the note that carries the text to the model (project-conventions 5.6).

Decides which words of a prompt name skills, how the note reads, and when a text stands in the conversation already. Never renders a body:
that is `substitute.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from compositor.types.attachments import TextAttachment

from .catalog import Catalog, Kind
from .skills import Skill

INVOKED = "invoked_skills"
REPEATED = "repeated_skill"
"""Kinds of the notes: with the text of a skill, and without it because it stands there already."""

STACKED = 6
"""So many skills may stand in one prompt, one behind the other."""

_CALL = re.compile(r"/(?P<name>[^\s/]+)(?:\s+|\Z)")
_LIKE_A_NAME = re.compile(r"/(?P<name>[A-Za-z][\w.:-]*)(?:\s|\Z)")


class Typed(Struct, frozen=True):
    """The skills that a prompt calls, in order, and what is handed to each of them."""

    skills: tuple[Skill, ...]
    arguments: str


def read_typed(prompt: str, catalog: Catalog[Skill]) -> Typed | None:
    """What a prompt that begins with `/name` calls; `None` for one that is plain text."""
    called: list[Skill] = []
    rest = prompt
    while len(called) < STACKED and (found := _CALL.match(rest)):
        skill = catalog.find(found["name"])
        if skill is None or not skill.typed:
            break
        called.append(skill)
        rest = rest[found.end() :]
    return Typed(tuple(called), rest.strip()) if called else None


def unknown_call(prompt: str, catalog: Catalog[Skill]) -> str | None:
    """One sentence for a prompt that looks like `/name` and calls nothing; `None` for any other."""
    found = _LIKE_A_NAME.match(prompt)
    if prompt.startswith("/mcp__"):
        return None  # a prompt of a server, which only the running session can look up
    if found is None or read_typed(prompt, catalog) is not None:
        return None
    name = found["name"]
    skill = catalog.find(name)
    if skill is not None:
        return f"the {skill.kind.value} {name!r} is for the model alone: its head says 'user-invocable: false'"
    names = [skill.name for skill in catalog.active if skill.typed]
    import difflib  # for a misspelling alone

    near = difflib.get_close_matches(name, names, n=1)
    return f"there is no skill or command '/{name}'" + (f"; the nearest is '/{near[0]}'" if near else "")


def invoked_note(skill: Skill, text: str, *, by_user: bool) -> TextAttachment:
    """The note with the text of a skill. Its first paragraph is ours, the rest is the skill's."""
    who = "The user invoked" if by_user else "You invoked"
    where = f" Its folder is {skill.folder}." if skill.kind is Kind.SKILL else ""
    opening = f"{who} the {skill.kind.value} {skill.name!r}.{where} Do what it says:"
    return TextAttachment(kind=INVOKED, name=skill.name, path=skill.path, text=f"{opening}\n\n{text}")


def bare_text(note: TextAttachment) -> str:
    """The text of a skill out of its note."""
    return note.text.partition("\n\n")[2]


def told_once(note: TextAttachment, told: Iterable[TextAttachment]) -> TextAttachment:
    """`note`, or a short one in its place when `told` (oldest first) holds the same text for the same skill already."""
    last: TextAttachment | None = None
    for one in told:
        if one.kind == INVOKED and one.name == note.name:
            last = one
    if last is None or bare_text(last) != bare_text(note):
        return note
    who = note.text.partition(" invoked ")[0]
    again = f"{who} invoked {note.name!r} once more. Its text stands above and has not changed: do what it says again."
    return TextAttachment(kind=REPEATED, name=note.name, text=again)
