"""What a source of notes is asked and what it hands over.

Decides the values only; `ports.Collector` is who is asked.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from msgspec import Struct

from .attachments import Attachment, TextAttachment
from .diagnostics import Diagnostic
from .entries import TranscriptEntry
from .persistent import Rope


class Occasion(enum.StrEnum):
    """When notes are collected: with a prompt, after each batch of calls (R182), and behind a compaction."""

    SUBMISSION = "submission"
    BATCH = "batch"
    COMPACTION = "compaction"


class Moment(Struct, frozen=True, kw_only=True):
    """One moment at which notes are collected.

    `prompt` is what the turn was begun with, `reached` the absolute paths of the files that the batch worked on, `told` every note of the
    history, oldest first: what is due is told from it, not from the last look (R200). `entries` are
    the whole of it, for counters. `cleared` counts the tool results that were taken
    out of the conversation.
    """

    prompt: str
    occasion: Occasion = Occasion.SUBMISSION
    reached: tuple[str, ...] = ()
    told: tuple[TextAttachment, ...] = ()
    entries: Rope[TranscriptEntry] = Rope()
    cleared: int = 0


class Collected(Struct, frozen=True, kw_only=True):
    """Notes for the tail, in order, and what went wrong while they were collected.

    `taken` is called once the notes are sure to be told: what is remembered of them changes there and nowhere else. `stale`: why what was
    looked at is too old to be told.
    """

    attachments: tuple[Attachment, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    taken: Callable[[], None] | None = None
    stale: str = ""
