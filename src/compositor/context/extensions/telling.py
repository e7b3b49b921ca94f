"""Which skills and agents the model is told of next: those that the history does not hold yet (R187, R200, R342).

Decides what is new and how it is said. What was told before is read off the notes themselves, so that a resumed or a compacted conversation is
told exactly what it lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from compositor.context.memory.rules import RuleGlobs
from compositor.types.attachments import TextAttachment

from .agents import AgentDefinition
from .catalog import Place
from .listing import MAX_DESCRIPTION, Listing, list_skills
from .skills import Skill

AGENTS = "agent_listing_delta"
LISTING = "skill_listing"
DYNAMIC = "dynamic_skill"
_NAME = re.compile(r"^- (\S+?):?(?: .*)?$", re.MULTILINE)


class Room(Struct, frozen=True):
    """Characters of a listing, and of one description in it."""

    listing: int
    description: int = MAX_DESCRIPTION


def told_names(told: Iterable[TextAttachment], *kinds: str) -> frozenset[str]:
    """The names that notes of these kinds have announced."""
    return frozenset(name for note in told if note.kind in kinds for name in _NAME.findall(note.text))


def listing_note(skills: Sequence[Skill], told: Sequence[TextAttachment], room: Room) -> TextAttachment | None:
    """The skills that wait for nothing and were not told of; `None` when there are none."""
    known = told_names(told, LISTING)
    new = [skill for skill in skills if skill.name not in known]
    listing = list_skills(new, room.listing, limit=room.description)
    if not listing.lines:
        return None
    opening = "There are new skills:" if known else "Skills that you can call with the tool Skill:"
    return TextAttachment(kind=LISTING, text=_said(opening, listing))


def dynamic_note(
    skills: Sequence[Skill], told: Sequence[TextAttachment], room: Room, *, folder: str
) -> TextAttachment | None:
    """Skills that the work has reached, by their `paths` or because they lie in `folder`, a folder below the project."""
    known = told_names(told, LISTING, DYNAMIC)
    new = [_unbound(skill) for skill in skills if skill.name not in known]
    listing = list_skills(new, room.listing, limit=room.description)
    if not listing.lines:
        return None
    where = f" in {folder}" if folder else ""
    opening = f"For what you work on{where} there are more skills that you can call with Skill:"
    return TextAttachment(kind=DYNAMIC, name=folder, path=folder or None, text=_said(opening, listing))


def agents_note(agents: Iterable[AgentDefinition], told: Sequence[TextAttachment]) -> TextAttachment | None:
    """The agents that the model was not told of; the built-in ones stand in the definition of the tool."""
    known = told_names(told, AGENTS)
    new = [agent for agent in agents if agent.place is not Place.BUILT_IN and agent.name not in known]
    if not new:
        return None
    opening = (
        "There are new agents:" if known else "Agents that you can start with the tool Agent, beside the built-in ones:"
    )
    lines = (f"- {agent.name}: {' '.join(agent.description.split())[:MAX_DESCRIPTION]}" for agent in new)
    return TextAttachment(kind=AGENTS, text="\n".join((opening, *lines)))


def due_skills(skills: Iterable[Skill], reached: Sequence[str], base: str) -> tuple[Skill, ...]:
    """The skills whose `paths`, relative to `base`, match one of the absolute paths that were worked on."""
    waiting = (skill for skill in skills if skill.globs)
    return tuple(skill for skill in waiting if RuleGlobs(texts=skill.globs, base=base).first_match(reached))


def _unbound(skill: Skill) -> Skill:
    from msgspec.structs import replace

    return replace(skill, globs=())


def _said(opening: str, listing: Listing) -> str:
    return "\n".join((opening, *listing.lines))
