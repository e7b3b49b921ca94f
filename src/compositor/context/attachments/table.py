"""The kinds of attachments that a resumed session must know about: how each is restored, told apart and guarded.

Decides, a row a kind: what a resume does with a stored record of it, what makes two records the same, and which shape its
payload must have. A kind without a row passes and is kept (R338); nothing here renders or collects.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct


class Restore(enum.StrEnum):
    """What a record of the kind means after a resume.

    `KEEP`: part of the conversation as it was, nothing is made of it. `STATE`: its newest record is what was told last
    (R339). `DELTA`: all its records add up to what was announced (R342, R343). `COUNTER`: the turns since its newest record
    count (R344). `EVENT`: happened once, and never again for the same content (R341). `OBSOLETE`: of older clients, no longer
    part of anything (R338).
    """

    KEEP = "keep"
    STATE = "state"
    DELTA = "delta"
    COUNTER = "counter"
    EVENT = "event"
    OBSOLETE = "obsolete"


class Dedup(enum.StrEnum):
    """What makes a second record a repetition, always within one kind (R340).

    `CONTENT`: the same payload (R341). `NAMES`: no name that was not announced before (R342, R343). `OWNER`: the same owner
    (a file, a section) told the same text. `NONE`: nothing does.
    """

    NONE = "none"
    CONTENT = "content"
    NAMES = "names"
    OWNER = "owner"


class Kind(Struct, frozen=True, kw_only=True):
    """One row. `guard` is the shape that a stored payload must have; `None` for a kind that passes by default (R338).

    `names` are the fields of the payload that hold announced and withdrawn names, for a `DELTA`.
    """

    restore: Restore
    dedup: Dedup = Dedup.NONE
    guard: type[Struct] | None = None
    names: tuple[str, str] = ("", "")


class InvokedSkill(Struct, frozen=True):
    name: str
    content: str


class InvokedSkills(Struct, frozen=True):
    skills: tuple[InvokedSkill, ...]


class SkillListing(Struct, frozen=True):
    content: str
    names: tuple[str, ...] = ()


class HookSuccess(Struct, frozen=True, rename="camel"):
    hook_name: str
    hook_event: str
    content: str = ""


class HookContext(Struct, frozen=True, rename="camel"):
    hook_name: str
    content: str | tuple[str, ...]


KINDS: Mapping[str, Kind] = {
    # Guarded: what they hold is taken up again, so a broken one must not be (R337).
    "invoked_skills": Kind(restore=Restore.STATE, guard=InvokedSkills),
    "skill_listing": Kind(restore=Restore.DELTA, dedup=Dedup.NAMES, guard=SkillListing, names=("names", "")),
    "hook_success": Kind(restore=Restore.EVENT, dedup=Dedup.CONTENT, guard=HookSuccess),
    "hook_additional_context": Kind(restore=Restore.EVENT, dedup=Dedup.CONTENT, guard=HookContext),
    # Announced sets.
    "deferred_tools_delta": Kind(restore=Restore.DELTA, dedup=Dedup.NAMES, names=("addedNames", "removedNames")),
    "mcp_instructions_delta": Kind(restore=Restore.DELTA, dedup=Dedup.NAMES, names=("addedNames", "removedNames")),
    "agent_listing_delta": Kind(restore=Restore.DELTA, dedup=Dedup.NAMES, names=("addedTypes", "removedTypes")),
    # Reminders with a counter of their own.
    "plan_mode": Kind(restore=Restore.COUNTER),
    "todo_reminder": Kind(restore=Restore.COUNTER),
    "task_reminder": Kind(restore=Restore.COUNTER),
    # States that were told: the next is told when it differs.
    "memory_update": Kind(restore=Restore.STATE, dedup=Dedup.OWNER),
    "section_update": Kind(restore=Restore.STATE, dedup=Dedup.OWNER),
    "git_status": Kind(restore=Restore.STATE, dedup=Dedup.OWNER),
    "date_change": Kind(restore=Restore.STATE, dedup=Dedup.OWNER),
    "nested_memory": Kind(restore=Restore.KEEP, dedup=Dedup.OWNER),
    "edited_text_file": Kind(restore=Restore.KEEP),
    "total_tokens_reminder": Kind(restore=Restore.STATE),
    "file": Kind(restore=Restore.KEEP),
    "compact_file_reference": Kind(restore=Restore.KEEP),
    # Of older clients.
    "new_file": Kind(restore=Restore.OBSOLETE),
    "new_directory": Kind(restore=Restore.OBSOLETE),
    "ultramemory": Kind(restore=Restore.OBSOLETE),
}

PASSES = Kind(restore=Restore.KEEP)


def kind_of(name: str) -> Kind:
    """The row of a kind; one that passes by default for all that have none."""
    return KINDS.get(name, PASSES)


def guard_problem(name: str, payload: Raw) -> str | None:
    """Why a stored payload cannot be taken up again, or `None` when it can (R337)."""
    guard = kind_of(name).guard
    if guard is None:
        return None
    try:
        msgspec.json.decode(payload, type=guard)
    except msgspec.MsgspecError as problem:
        return str(problem)
    return None
