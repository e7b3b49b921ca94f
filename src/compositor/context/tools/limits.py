"""Limits of what results may cost, and how a long one is shown (F40).

Decides what is too long, for one result and for all results of a turn's batch, and the words in place of the middle. The whole text is
kept elsewhere, by whoever asks. Cuts are by size, never by line, and fall between characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from compositor.context.tokens import estimate_tokens
from compositor.types.json import repair_text

RESULT_TOKENS: Final = 25_000
"""Most tokens of one result of a server (`MAX_MCP_OUTPUT_TOKENS`)."""

BATCH_TOKENS: Final = 60_000
"""Most tokens of all results that answer one message."""

RESULT_SHARE: Final = 0.125
BATCH_SHARE: Final = 0.3
"""Shares of a small window that one result of a server, and all results that answer one message, may take at most."""

PREVIEW_CHARACTERS: Final = 2_000
"""Of a long result: so much from its beginning and so much from its end."""

# About what a preview costs: what is shorter gains nothing by becoming one.
_PREVIEW_TOKENS: Final = 2_000


class Kept(Struct, frozen=True, kw_only=True):
    """Where the whole of a result lies. `described` says it in words for the model."""

    path: str | None
    described: str


class Limits(Struct, frozen=True, kw_only=True):
    """In tokens: one result of a server, and all results that answer one message."""

    result: int = RESULT_TOKENS
    batch: int = BATCH_TOKENS


def plan_limits(window: int, batch: int | None = None) -> Limits:
    """The limits in a window of so many tokens. `batch` is what a person asks for all results of a message."""
    return Limits(
        result=min(RESULT_TOKENS, int(RESULT_SHARE * window)),
        batch=batch or min(BATCH_TOKENS, int(BATCH_SHARE * window)),
    )


def tokens_of(text: str) -> int:
    """About how many tokens a text costs."""
    return estimate_tokens(text.encode("utf-8", "surrogatepass"))


def too_long(sizes: Sequence[int], limit: int = BATCH_TOKENS) -> tuple[int, ...]:
    """Which of the results, by index, have to become previews so that all together stay below `limit` tokens: the largest first.

    What the previews cost is counted. Results that are short already are never among them.
    """
    total = sum(sizes)
    chosen: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index], index)):
        if total <= limit or sizes[index] <= _PREVIEW_TOKENS:
            break
        chosen.append(index)
        total -= sizes[index] - _PREVIEW_TOKENS
    return tuple(sorted(chosen))


def preview(text: str, kind: str, kept: Kept) -> str:
    """Beginning and end of a long text, with its size, its type and the place of the whole between them."""
    text = repair_text(text)
    size = len(text.encode())
    hidden = len(text) - 2 * PREVIEW_CHARACTERS
    notice = (
        f"[{hidden:,} of {len(text):,} characters are left out here. The result is {kind} of {size:,} bytes, "
        f"about {tokens_of(text):,} tokens. {kept.described}]"
    )
    return f"{text[:PREVIEW_CHARACTERS]}\n{notice}\n{text[-PREVIEW_CHARACTERS:]}"


def kind_of(text: str) -> str:
    """JSON, XML or plain text, by its first character."""
    start = text.lstrip()[:1]
    return "JSON" if start in {"{", "["} else "XML or HTML" if start == "<" else "plain text"
