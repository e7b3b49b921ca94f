"""Keeps the memory of a session in the background: a fork that may edit one file (R328 to R336).

Decides when nothing: thresholds, template and words stand in `context/compaction/session_memory.py`, the fork's limits in `policy/limits.py`. One
extraction at a time; a failing one never disturbs the conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec
from msgspec import Struct

from compositor.context.compaction.cut import entry_tokens
from compositor.context.compaction.session_memory import WAIT_SECONDS, Progress, memory_prompt, progress
from compositor.context.wire.assemble import AssembledMessage
from compositor.loop.session import Conversation, Stamp, message_entry, record, results_entry
from compositor.policy.limits import ToolLimits
from compositor.ports import MemoryFile
from compositor.runtime.events import NotesCollected, Watcher
from compositor.runtime.line import ModelLine
from compositor.types.blocks import TextBlock
from compositor.types.diagnostics import Diagnostic
from compositor.types.entries import Origin, TranscriptEntry, UserEntry
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

MAX_REQUESTS = 4
"""Requests of one extraction."""

Spawn = Callable[[Callable[[], Awaitable[None]]], None]
"""Starts something beside the session; it is cancelled at the session's end."""


class Keeping(Struct, frozen=True, kw_only=True):
    """What a keeper works with. `note` hears each verdict on a call: call, allowed, reason."""

    line: ModelLine
    file: MemoryFile
    spawn: Spawn
    stamp: Callable[[], Stamp]
    watch: Watcher
    note: Callable[[ToolCall, bool, str], None]


class MemoryKeeper:
    """One session's. `saw` hears of every entry; `consider` starts an extraction when one is due."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._since = Progress()
        self._running: anyio.Event | None = None

    def saw(self, entries: Sequence[TranscriptEntry]) -> None:
        new = progress(entries, map(entry_tokens, entries))
        self._since = Progress(self._since.tokens + new.tokens, self._since.calls + new.calls)

    def consider(self, conversation: Conversation) -> None:
        """Call it where every call has its result. Never two at once (R331); what is due meanwhile is due again afterwards."""
        if self._running is not None or not self._since.is_due:
            return
        self._since = Progress()
        ended = self._running = anyio.Event()

        async def run() -> None:
            try:
                await self._extract(conversation)
            except Exception as problem:  # noqa: BLE001 - the conversation goes on without it (R336)
                message = f"The session's memory was not brought up to date: {type(problem).__name__}: {problem}"
                self._keeping.watch(
                    NotesCollected((), (Diagnostic("session_memory.failed", message, step="session memory"),))
                )
            finally:
                self._running = None
                ended.set()

        self._keeping.spawn(run)

    async def settle(self) -> None:
        """Wait for an extraction under way, at most 15 seconds (R332)."""
        running = self._running
        if running is not None:
            with anyio.move_on_after(WAIT_SECONDS):
                await running.wait()

    async def _extract(self, conversation: Conversation) -> None:
        """Helper context, file, restricted run, in this order (R335). The fork reads the session's prefix and writes no tail (R256)."""
        keeping = self._keeping
        words = memory_prompt(keeping.file.path, await keeping.file.prepare())
        mark = keeping.stamp()
        asked = UserEntry(
            uuid=mark.uuid,
            parent=conversation.leaf,
            time=mark.time,
            content=(TextBlock(words),),
            origin=Origin.UNCLASSIFIED,
            is_meta=True,
        )
        fork = record(conversation, (asked,))
        fork = msgspec.structs.replace(fork, options=msgspec.structs.replace(fork.options, skip_write=True))
        for _ in range(MAX_REQUESTS):
            answer = await keeping.line.ask_aside(fork)
            if answer.message is None or not answer.message.calls:
                return
            outcomes = [await self._run(call) for call in answer.message.calls]
            fork = record(fork, self._answered(fork, answer.message, outcomes))

    async def _run(self, call: ToolCall) -> ToolOutcome:
        file = self._keeping.file
        refusal = ToolLimits(tools=("Edit",), file=file.path).refusal(call.name, file.touched(call))
        self._keeping.note(call, refusal is None, refusal or "the one file of the memory helper")
        if refusal is not None:
            return ToolOutcome(call_id=call.id, kind=OutcomeKind.DENIED, content=refusal, display=refusal)
        return await file.edit(call)

    def _answered(
        self, fork: Conversation, message: AssembledMessage, outcomes: Sequence[ToolOutcome]
    ) -> tuple[TranscriptEntry, ...]:
        answer = message_entry(
            message,
            stamp=self._keeping.stamp(),
            parent=fork.leaf,
            model=fork.options.model,
            prefix_digest=fork.prefix.view_digest,
        )
        return (answer, results_entry(outcomes, stamp=self._keeping.stamp(), parent=answer.uuid))
