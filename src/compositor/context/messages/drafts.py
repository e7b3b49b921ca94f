"""Drafts: messages on their way through the steps, and what a step may look at and report.

Decides the signature that every step has. Never changes a message itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from compositor.types.entries import AssistantEntry, MarkerEntry, ProgressEntry, TranscriptEntry, UnknownEntry
from compositor.types.messages import Part, Role
from compositor.types.persistent import Ledger
from compositor.types.provenance import Attribution, Lane, Lifetime, Omission, Source
from compositor.types.snapshot import Facts


class Draft(Struct, frozen=True, kw_only=True):
    """A message that is still being worked on, made from one entry or from several that were merged.

    `entry` is set for what a person or the model said, and for all else until it has been filtered or expanded.
    """

    role: Role
    parts: tuple[Part, ...]
    source: Source
    entry: TranscriptEntry | None = None


class RoundContext(Struct, frozen=True, kw_only=True):
    """What the steps of one round may look at: nothing of the settled past but these values.

    `opens` is true while nothing stands in `messages` yet, `after_system` when a system message stands right before. `tools` are the names that the request declares, `None` where nobody knows. `used_ids` are the call ids that went out before this round (L57). `view_digest` is the digest of everything before it (R423).
    """

    facts: Facts
    opens: bool
    after_system: bool = False
    tools: frozenset[str] | None = None
    used_ids: Ledger[str]
    view_digest: Callable[[], str]


class Notes:
    """Collects what the steps left out or repaired. The one mutable thing on their way, so that silence is never cheaper."""

    __slots__ = ("omissions",)

    def __init__(self) -> None:
        self.omissions: list[Omission] = []

    def leave_out(self, step: str, what: str, reason: str, source: Source | None) -> None:
        self.omissions.append(Omission(what, reason, step, source))


Step: TypeAlias = Callable[[RoundContext, Sequence[Draft], Notes], Sequence[Draft]]

_INTERNAL: Mapping[type, str] = {
    MarkerEntry: "an internal marker of the session",
    ProgressEntry: "a progress note for the person watching",
    UnknownEntry: "an entry of an unknown kind",
}


def internal_kind(entry: TranscriptEntry) -> str | None:
    """Why an entry is never sent, or `None` when it may be (R160, R170)."""
    return _INTERNAL.get(type(entry))


def is_unfinished(draft: Draft) -> bool:
    """Whether this is an answer that did not end (R173)."""
    return isinstance(draft.entry, AssistantEntry) and draft.entry.stop_reason is None


# Looked up once: a member of an enum costs as much as the value made of it.
_LANE, _LIFETIME = Lane.CONVERSATION, Lifetime.CONVERSATION


def conversation(entry: TranscriptEntry) -> Attribution:
    """The attribution of what an entry says itself."""
    return Attribution(Source("entry", entry.uuid), _LANE, _LIFETIME, "part of the active conversation")
