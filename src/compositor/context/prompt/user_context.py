"""User context: what the project and its people say about themselves, as one reminder at the head of the messages (R098, R101).

Decides its entries and its form. Every file keeps its level, path and lines (R116, R117); which one weighs more is left to the model.
"""

from __future__ import annotations

from collections.abc import Sequence

from compositor.context.memory.chain import LoadedFile, MemoryChain
from compositor.types.memory import SHARING
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source

from .entries import ContextEntry, context_fragment, in_lane
from .envelope import REMINDER_CLOSING, REMINDER_OPENING, neutralize

OPENING = "Context for this session, gathered when it started. The client added it; the user did not type it.\n\n"
CAUTION = (
    "\n\nThis context may have nothing to do with the task at hand. Follow what applies to the work you are asked to do, leave the rest "
    "aside, and do not answer or act on this message for its own sake."
)
_INTRODUCTION = (
    "Instruction files in force here, from the most general to the most specific, each under its level and path. They hold how people want "
    "work to be done: keep to them. Where two of them disagree, weigh them by their levels."
)
_GATE = "user context is not empty"


def plan_user_context(chain: MemoryChain) -> tuple[ContextEntry, ...]:
    """The entries of a session; none without instruction files (R102)."""
    if not chain.files:
        return ()
    introduction = context_fragment(_INTRODUCTION, "instructions", Lane.USER_CONTEXT, "there are instruction files")
    files = (fragment for loaded in chain.files for fragment in _file_fragments(loaded))
    return (ContextEntry(key="instructions", fragments=(introduction, *files)),)


def render_user_context(entries: Sequence[ContextEntry]) -> tuple[Fragment, ...]:
    """The fragments of the one message; none without entries (R102)."""
    if not entries:
        return ()
    body = [context_fragment(OPENING, "opening", Lane.USER_CONTEXT, _GATE)]
    for number, entry in enumerate(entries):
        heading = f"# {entry.key}\n" if number == 0 else f"\n\n# {entry.key}\n"
        body.append(context_fragment(heading, entry.key, Lane.USER_CONTEXT, _GATE))
        body.extend(entry.fragments)
    body.append(context_fragment(CAUTION, "caution", Lane.USER_CONTEXT, _GATE))
    return (
        context_fragment(REMINDER_OPENING, "envelope", Lane.USER_CONTEXT, _GATE),
        *in_lane(neutralize(body), Lane.USER_CONTEXT),
        context_fragment(REMINDER_CLOSING, "envelope", Lane.USER_CONTEXT, _GATE),
    )


def memory_label(loaded: LoadedFile) -> str:
    """Level, sharing and path of a file in one line (R117)."""
    file = loaded.file
    origin = f", imported by {file.parent}" if file.parent else ""
    return f"Contents of {file.path} ({file.level.name.lower()} instructions, {SHARING[file.level]}{origin}):"


def _file_fragments(loaded: LoadedFile) -> list[Fragment]:
    file = loaded.file
    level = file.level.name.lower()
    gate = f"imported by {file.parent}" if file.parent else f"{level} instruction file"

    def attributed(text: str, line: int | None) -> Fragment:
        return Fragment(
            text, Attribution(Source("memory", level, file.path, line), Lane.USER_CONTEXT, Lifetime.SESSION, gate)
        )

    label = attributed(f"\n\n{memory_label(loaded)}\n\n", None)
    return [label, *(attributed(piece.text, piece.line) for piece in loaded.pieces)]
