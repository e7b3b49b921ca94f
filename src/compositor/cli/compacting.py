"""One compaction from the command line: the agent, the line to the model, and nothing of a turn.

Decides which entries a pin means. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from compositor.cli.running import Line, Running, run_agent
from compositor.context.compaction.kept import Kept
from compositor.context.compaction.ladder import Ladder, Step
from compositor.context.compaction.outline import text_of
from compositor.errors import UsageError
from compositor.runtime.events import Compacted, Watcher

if TYPE_CHECKING:
    from compositor.opened import Opened


class Request(Struct, frozen=True, kw_only=True):
    """What is asked for. `by_records`: without a model."""

    focus: str = ""
    pins: tuple[str, ...] = ()
    by_records: bool = False


def pinned(opened: Opened, names: Sequence[str]) -> tuple[str, ...]:
    """The texts of the entries with these ids, or beginnings of ids. Raises `UsageError` for one that means no entry, or several."""
    entries = tuple(opened.conversation.prefix.entries)
    texts: list[str] = []
    for name in names:
        found = [entry for entry in entries if name and entry.uuid.startswith(name)]
        if len(found) != 1:
            problem = "there is no message" if not found else "there is more than one message"
            raise UsageError(f"{problem} {name!r} to pin", hint="'compositor sessions show' lists them")
        text = text_of(found[0])
        if not text:
            raise UsageError(f"the message {name!r} has no text of its own to pin")
        texts.append(text)
    return tuple(texts)


def preview(opened: Opened, focus: str) -> tuple[Ladder, Kept]:
    """What `compact_session` would do. Sends and stores nothing."""
    from compositor.wiring import plan_compaction

    return plan_compaction(opened, focus)


def compact_session(opened: Opened, request: Request, line: Line, watch: Watcher) -> Compacted | None:
    """Compact an opened session; `None` when nothing could be done, which `watch` was told."""
    return run_agent(opened, line, watch, partial(_act, request)).result


async def _act(request: Request, running: Running) -> Compacted | None:
    step = Step.OUTLINE if request.by_records else None
    return await running.agent.compact(request.focus, request.pins, step)
