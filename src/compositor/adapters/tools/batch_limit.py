"""The limit on all results of one message together.

Performs the moving of large texts into files; which ones have to go is decided in `context/tools/limits.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from compositor.context.tools.limits import BATCH_TOKENS, kind_of, preview, tokens_of, too_long
from compositor.types.blocks import TextBlock
from compositor.types.tools import ToolOutcome

from .output import keep_text


def limit_batch(outcomes: Sequence[ToolOutcome], folder: str, limit: int = BATCH_TOKENS) -> tuple[ToolOutcome, ...]:
    """The outcomes with the largest texts moved to files in `folder`, so that all together stay below `limit` tokens."""
    texts = [_text(outcome) for outcome in outcomes]
    chosen = too_long([tokens_of(text) for text in texts], limit)
    return tuple(
        _moved(outcome, texts[index], folder) if index in chosen else outcome for index, outcome in enumerate(outcomes)
    )


def _text(outcome: ToolOutcome) -> str:
    if isinstance(outcome.content, str):
        return outcome.content
    return "\n".join(block.text for block in outcome.content if isinstance(block, TextBlock))


def _moved(outcome: ToolOutcome, text: str, folder: str) -> ToolOutcome:
    short = preview(text, kind_of(text), keep_text(folder, f"result-{outcome.call_id}", text))
    if isinstance(outcome.content, str):
        return replace(outcome, content=short)
    others = tuple(block for block in outcome.content if not isinstance(block, TextBlock))
    return replace(outcome, content=(TextBlock(short), *others))
