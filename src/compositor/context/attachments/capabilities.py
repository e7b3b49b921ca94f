"""Kinds of capability: what changed in the catalog of abilities? Deltas against what the history announced (R187, R200)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from compositor.types.attachments import TOOL_ADDITION
from compositor.types.provenance import Lane

from .kinds import Category, Compacted, Dedup, Kind, Restore, Speaker, Trigger


class InvokedSkill(Struct, frozen=True):
    name: str
    content: str


class InvokedSkills(Struct, frozen=True):
    skills: tuple[InvokedSkill, ...]


class SkillListing(Struct, frozen=True):
    content: str
    names: tuple[str, ...] = ()


ROWS: Mapping[str, Kind] = {
    "skill_listing": Kind(
        about="skills that can be used, a line each",
        category=Category.CAPABILITY,
        speaker=Speaker.PROJECT,
        trigger=Trigger.CHANGE,
        restore=Restore.DELTA,
        dedup=Dedup.NAMES,
        guard=SkillListing,
        names=("names", ""),
        compacted=Compacted.COLLECTOR,
        producer="compositor.context.extensions.telling:listing_note",
    ),
    "dynamic_skill": Kind(
        about="skills of a folder that the work has reached",
        category=Category.CAPABILITY,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COLLECTION,
        restore=Restore.KEEP,
        compacted=Compacted.COLLECTOR,
        producer="compositor.context.extensions.telling:dynamic_note",
    ),
    "invoked_skills": Kind(
        about="the text of skills that were used",
        category=Category.CAPABILITY,
        speaker=Speaker.PROJECT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.STATE,
        compacted=Compacted.OWNER,
        guard=InvokedSkills,
        producer="compositor.context.extensions.invoke:invoked_note",
    ),
    "repeated_skill": Kind(
        about="a skill whose text stands there already was used once more",
        category=Category.CAPABILITY,
        speaker=Speaker.PROJECT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.KEEP,
        producer="compositor.context.extensions.invoke:told_once",
    ),
    "deferred_tools_delta": Kind(
        about="tools that can be searched for, and such as are gone",
        category=Category.CAPABILITY,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.CHANGE,
        restore=Restore.DELTA,
        dedup=Dedup.NAMES,
        names=("addedNames", "removedNames"),
        compacted=Compacted.OWNER,
        producer="compositor.context.tools.deferral:plan_news",
    ),
    TOOL_ADDITION: Kind(
        about="deferred tools that come into view without a search",
        category=Category.CAPABILITY,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.KEEP,
        lane=Lane.API_SYSTEM,
        dedup=Dedup.NAMES,
        compacted=Compacted.OWNER,
        producer="compositor.context.tools.deferral:plan_news",
    ),
    "mcp_instructions_delta": Kind(
        about="what servers say of their use, and such as are gone",
        category=Category.CAPABILITY,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.CHANGE,
        restore=Restore.DELTA,
        dedup=Dedup.NAMES,
        names=("addedNames", "removedNames"),
        compacted=Compacted.OWNER,
        producer="compositor.context.tools.deferral:plan_news",
    ),
    "dropped_tools": Kind(
        about="tools that could not be offered",
        category=Category.CAPABILITY,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
    ),
    "agent_listing_delta": Kind(
        about="agents that can be started, and such as are gone",
        category=Category.CAPABILITY,
        speaker=Speaker.PROJECT,
        trigger=Trigger.CHANGE,
        restore=Restore.DELTA,
        dedup=Dedup.NAMES,
        names=("addedTypes", "removedTypes"),
        compacted=Compacted.COLLECTOR,
        producer="compositor.context.extensions.telling:agents_note",
    ),
}
