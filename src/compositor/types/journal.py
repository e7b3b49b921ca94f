"""The send journal: what was decided at send time, and how it went (R424).

Decides the records. Format version 0. Written next to the entries in the transcript; `context/transcript/journal.py` reads them
back for the cold path.
"""

from __future__ import annotations

import enum

from msgspec import Struct

from .gathering import Gathered
from .provenance import Lane
from .request import MarkerPlan, RequestOptions
from .snapshot import Latch, PrefixEvent
from .usage import Usage


class SendOutcome(enum.StrEnum):
    """`ANSWERED` settles what was sent; after any other outcome it is unsent again."""

    PENDING = "pending"
    ANSWERED = "answered"
    REFUSED = "refused"
    LOST = "lost"
    INTERRUPTED = "interrupted"


class SentEntry(Struct, frozen=True, omit_defaults=True):
    """An entry as it went out: its id and the lane that carried it."""

    entry: str
    lane: Lane = Lane.CONVERSATION


class SendRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request. `latches` and `refused_images` are what the service had refused before, `cleared` what was cleaned out (`snapshot.Facts`). `leaf` is the newest entry it held; `view_digest` the digest of its prefix view; `size` in bytes. `gathered` says how the sources of notes stood before it (R206).

    No digest of the whole body is kept: it would cost a pass over all that is settled on every turn, and head, view, markers and
    options give the body again.

    `purpose` names a request outside the conversation, with a head of its own: nothing of it is ever sent again.
    """

    request_id: str
    time: str
    head_digest: str
    view_digest: str
    size: int
    leaf: str | None
    sent: tuple[SentEntry, ...]
    markers: tuple[MarkerPlan, ...]
    options: RequestOptions
    profile: str
    events: tuple[PrefixEvent, ...] = ()
    latches: tuple[Latch, ...] = ()
    refused_images: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    forecast_read: int | None = None
    forecast_written: int | None = None
    gathered: tuple[Gathered, ...] = ()
    purpose: str = ""


class OutcomeRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a request ended. `detail` is one sentence for anything but an answer.

    `verdict` says what became of the forecast, `cause` why, `lost` how many tokens were not read that should have been; `said` is the service's own
    verdict.
    """

    request_id: str
    time: str
    outcome: SendOutcome
    usage: Usage | None = None
    detail: str = ""
    verdict: str = ""
    cause: str = ""
    lost: int = 0
    said: str = ""
