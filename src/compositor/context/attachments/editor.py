"""Kinds of editor and diagnostics: what does the user look at, and which diagnostics are new? (R189)."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Category, Dedup, Kind, Restore, Speaker, Trigger

SELECTION_CHARACTERS = 4_000
"""Characters of selected text."""

DIAGNOSTICS_CHARACTERS = 4_000
"""Characters of all diagnostics of one round."""

ROWS: Mapping[str, Kind] = {
    "selected_lines_in_ide": Kind(
        about="lines that are selected in the editor",
        category=Category.EDITOR,
        speaker=Speaker.PROJECT,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        budget=SELECTION_CHARACTERS,
        producer="compositor.adapters.collectors.editor:EditorCollector",
    ),
    "opened_file": Kind(
        about="the file that is open in the editor",
        category=Category.EDITOR,
        speaker=Speaker.PROJECT,
        trigger=Trigger.SUBMISSION,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        producer="compositor.adapters.collectors.editor:EditorCollector",
    ),
    "diagnostics": Kind(
        about="what language servers report of files",
        category=Category.EDITOR,
        speaker=Speaker.PROJECT,
        trigger=Trigger.COLLECTION,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        budget=DIAGNOSTICS_CHARACTERS,
        producer="compositor.adapters.collectors.editor:EditorCollector",
    ),
}
