"""Kinds of file freshness: has a file that the model saw been changed from outside? (R185, R299 to R306)."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Category, Kind, Restore, Speaker, Trigger

SNIPPETS_CHARACTERS = 16_384
"""Characters of all differences of one round (R304)."""

LISTING_CHARACTERS = 8_000
"""Characters of a summary of many changed files."""

ROWS: Mapping[str, Kind] = {
    "edited_text_file": Kind(
        about="a file that was seen whole has changed, with the difference, or is gone or moved",
        category=Category.FRESHNESS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COLLECTION,
        restore=Restore.KEEP,
        budget=SNIPPETS_CHARACTERS,
        producer="compositor.adapters.collectors.changed_files:ChangedFilesCollector",
    ),
    "edited_image_file": Kind(
        about="a picture that was seen has changed",
        category=Category.FRESHNESS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COLLECTION,
        restore=Restore.KEEP,
        producer="compositor.adapters.collectors.changed_files:ChangedFilesCollector",
    ),
    "changed_files": Kind(
        about="so many files changed at once that they are summed up",
        category=Category.FRESHNESS,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COLLECTION,
        restore=Restore.KEEP,
        budget=LISTING_CHARACTERS,
        producer="compositor.adapters.collectors.changed_files:ChangedFilesCollector",
    ),
    "read_truncation": Kind(
        about="a read that was cut: stands in the result of the call",
        category=Category.FRESHNESS,
        speaker=Speaker.CLIENT,
        trigger=Trigger.TOOL,
        restore=Restore.KEEP,
        producer="compositor.adapters.tools.read:ReadTool",
    ),
}
