"""Kinds that stand behind a compaction only (R193), and those of older clients."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Category, Compacted, Kind, Restore, Speaker, Trigger

ROWS: Mapping[str, Kind] = {
    "compact_file_reference": Kind(
        about="a file that was seen and is not handed over again",
        category=Category.RESTORED,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COMPACTION,
        restore=Restore.KEEP,
        compacted=Compacted.OWNER,
        producer="compositor.context.compaction.restore:restore_files",
    ),
    "plan_file_reference": Kind(
        about="the plan that is being worked on",
        category=Category.RESTORED,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COMPACTION,
        restore=Restore.KEEP,
        compacted=Compacted.OWNER,
        producer="compositor.context.compaction.restore:restore_plan",
    ),
    "pinned": Kind(
        about="what a person wants kept word for word",
        category=Category.RESTORED,
        speaker=Speaker.PERSON,
        trigger=Trigger.COMPACTION,
        restore=Restore.KEEP,
        compacted=Compacted.OWNER,
        producer="compositor.context.compaction.restore:restore_pins",
    ),
    "new_file": Kind(
        about="of older clients",
        category=Category.FRESHNESS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.OBSOLETE,
    ),
    "new_directory": Kind(
        about="of older clients",
        category=Category.FRESHNESS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.OBSOLETE,
    ),
    "ultramemory": Kind(
        about="of older clients",
        category=Category.INSTRUCTIONS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.OBSOLETE,
    ),
}
