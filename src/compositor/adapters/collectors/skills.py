"""Tells the model which skills and agents there are, and which skills its work has reached.

Performs the look-up in a thread. What is new, and in which words, is decided in `context/extensions/telling.py`.
"""

from __future__ import annotations

from collections.abc import Collection

from anyio import to_thread

from compositor.adapters.skill_shelf import SkillShelf
from compositor.context.extensions.telling import DYNAMIC, Room, agents_note, due_skills, dynamic_note, listing_note
from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment, Occasion


class SkillCollector:
    """`room` bounds every listing of skills; `tools` are those that the model has to call them, `Skill` and `Agent`."""

    def __init__(self, shelf: SkillShelf, room: Room, tools: Collection[str]) -> None:
        self._shelf = shelf
        self._room = room
        self._tools = tools

    async def collect(self, moment: Moment) -> Collected:
        if moment.occasion is Occasion.BATCH and not moment.reached:
            return Collected()
        notes = await to_thread.run_sync(self.look, moment, abandon_on_cancel=True)
        return Collected(attachments=notes)

    def look(self, moment: Moment) -> tuple[TextAttachment, ...]:
        """What is due, in the calling thread. Folders that an earlier part of the session reached are read off its notes."""
        before = [note.path for note in moment.told if note.kind == DYNAMIC and note.path]
        skills = self._shelf.look(moment.reached, before).active
        agents = (agents_note(self._shelf.agents.active, moment.told),) if "Agent" in self._tools else ()
        if "Skill" not in self._tools:
            return tuple(note for note in agents if note is not None)
        nested = {folder: [skill for skill in skills if _is_in(skill.path, folder)] for folder in self._shelf.below}
        lying_below = {skill.path for found in nested.values() for skill in found}
        own = [skill for skill in skills if skill.path not in lying_below]
        notes = [
            *agents,
            listing_note(own, moment.told, self._room),
            dynamic_note(due_skills(own, moment.reached, self._shelf.cwd), moment.told, self._room, folder=""),
            *(dynamic_note(found, moment.told, self._room, folder=folder) for folder, found in nested.items()),
        ]
        return tuple(note for note in notes if note is not None)


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/.claude/")
