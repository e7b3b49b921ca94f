"""Kinds of instructions and memory: which persistent texts have entered or gone out of date? (R186)."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Category, Compacted, Dedup, Kind, Restore, Speaker, Trigger

ROWS: Mapping[str, Kind] = {
    "nested_memory": Kind(
        about="an instruction file that the work has reached",
        category=Category.INSTRUCTIONS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COLLECTION,
        restore=Restore.KEEP,
        dedup=Dedup.OWNER,
        compacted=Compacted.COLLECTOR,
        producer="compositor.context.memory.news:nested_notes",
    ),
    "relevant_memories": Kind(
        about="a note of the automatic memory that fits what is worked on",
        category=Category.INSTRUCTIONS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COLLECTION,
        restore=Restore.KEEP,
        compacted=Compacted.COLLECTOR,
        producer="compositor.context.memory.relevance:select_notes",
    ),
    "memory_update": Kind(
        about="an instruction file that was told has changed",
        category=Category.INSTRUCTIONS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        compacted=Compacted.COLLECTOR,
        producer="compositor.loop.news:news_notes",
    ),
    "section_update": Kind(
        about="a part of the system prompt would be another now",
        category=Category.INSTRUCTIONS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        producer="compositor.loop.news:news_notes",
    ),
    "git_status": Kind(
        about="the state of version control, for sessions that keep it out of the system prompt",
        category=Category.INSTRUCTIONS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        compacted=Compacted.COLLECTOR,
        producer="compositor.adapters.collectors.version_state:VersionStateCollector",
    ),
}
