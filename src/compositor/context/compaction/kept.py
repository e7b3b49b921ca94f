"""What stays of a conversation word for word: the newest messages within a small budget, and whatever has no answer yet.

Decides the cut (F25) and what is told when the unanswered part is too large to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from compositor.context.freshness.read_state import seen_files
from compositor.context.messages.human import is_human_prompt
from compositor.types.entries import AssistantEntry, TranscriptEntry
from compositor.types.provenance import Omission

from .cut import cut_places, entry_tokens, kept_from, unanswered_from
from .outline import shortened, text_of

KEPT_TOKENS = 8_000
"""The newest messages that are kept beside a summary, at most an eighth of what is usable."""

REQUEST_CHARS = 20_000


class Kept(Struct, frozen=True, kw_only=True):
    """`entries` stay, `before` are summarized. `request` is the prompt that is being worked on, when it is not among the kept."""

    entries: tuple[TranscriptEntry, ...]
    before: tuple[TranscriptEntry, ...]
    request: str = ""
    omissions: tuple[Omission, ...] = ()

    def visible(self, cwd: str) -> frozenset[str]:
        """The absolute paths of files whose text stands in what is kept (R326)."""
        return frozenset(seen_files(self.entries, cwd))


def keep_tail(entries: Sequence[TranscriptEntry], usable: int, scale: float = 1.0, newest: int = KEPT_TOKENS) -> Kept:
    """The cut of a conversation. `usable` is what a request may hold, `newest` what is kept of answered messages, in tokens."""
    waiting = unanswered_from(entries)
    first = min(kept_from(entries, min(newest, usable // 8), scale), _last_place(entries))
    omissions: tuple[Omission, ...] = ()
    if waiting < len(entries):
        size = sum(entry_tokens(entry, scale) for entry in entries[waiting:])
        # A prompt is never taken out of its turn, however long it is; results can be had again.
        if size <= usable // 2 or not isinstance(entries[waiting], AssistantEntry):
            first = min(first, waiting)
        else:
            first = len(entries)
            reason = f"about {size:,} tokens do not fit beside a summary; the last calls have to be made again"
            omissions = (Omission("the messages that have no answer yet", reason, "compaction.kept"),)
    prompt = next((at for at in range(len(entries) - 1, -1, -1) if is_human_prompt(entries[at])), None)
    is_open = waiting < len(entries) and prompt is not None and prompt < first
    return Kept(
        entries=tuple(entries[first:]),
        before=tuple(entries[:first]),
        request=shortened(text_of(entries[prompt]), REQUEST_CHARS) if is_open and prompt is not None else "",
        omissions=omissions,
    )


def _last_place(entries: Sequence[TranscriptEntry]) -> int:
    """The newest legal cut, or the end when every call has its result there."""
    return len(entries) if not entries else max((*cut_places(entries), _end(entries)))


def _end(entries: Sequence[TranscriptEntry]) -> int:
    waiting = unanswered_from(entries)
    return len(entries) if waiting == len(entries) else 0
