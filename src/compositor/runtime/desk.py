"""What a turn works on: the conversation as it stands, its tail, and what can be interrupted.

Decides only that memory and transcript stay the same: what is taken in is stored first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import anyio

from compositor.errors import UsageError
from compositor.loop.session import Conversation, Stamp, record, renew_head
from compositor.runtime.events import HeadRenewed
from compositor.runtime.parts import Parts
from compositor.runtime.tail import Tail
from compositor.types.collected import Occasion
from compositor.types.entries import AttachmentEntry, TranscriptEntry


class Desk:
    """One session's. `stop` may be called from anywhere in the same event loop."""

    def __init__(self, parts: Parts, conversation: Conversation) -> None:
        self.parts = parts
        self.conversation = conversation
        self.tail = Tail(parts, self.stamp)
        self.stopped = False
        self._stop: Callable[[], None] | None = None

    def begin(self) -> None:
        """A turn begins: nothing is stopped, and what counts within a turn counts anew."""
        self.stopped = False
        self.parts.line.begin_turn()
        if self.parts.compacting is not None:
            self.parts.compacting.begin_turn()

    def stop(self) -> None:
        """Interrupt what runs now, and let nothing new begin."""
        self.stopped = True
        if self._stop is not None:
            self._stop()

    @contextmanager
    def stoppable(self, stop: Callable[[], None] | None = None) -> Iterator[None]:
        """What `stop` interrupts; the code behind it goes on. With `stop` the work ends itself, else it is cancelled."""
        with anyio.CancelScope() as scope:
            self._stop = stop or scope.cancel
            yield
        self._stop = None

    def record(self, entries: Sequence[TranscriptEntry]) -> None:
        """Take entries into the conversation, stored first."""
        if not entries:
            return
        self.parts.store.append(entries)
        self.conversation = record(self.conversation, entries)
        if self.parts.keeper is not None:
            self.parts.keeper.saw(entries)

    async def told(self, occasion: Occasion, reached: tuple[str, ...], parent: str) -> tuple[AttachmentEntry, ...]:
        """What stands at the tail behind `parent`; once the turn is to stop, nothing is collected for it any more."""
        if self.stopped:
            return self.tail.said(self.conversation, parent)
        return await self.tail.collect(self.conversation, occasion, reached, parent)

    async def switch_model(self, model: str, cause: str, *, by_person: bool = False) -> str:
        """Go on with another model, from the next request on; gives its id.

        Raises `ConfigError` for one that may not be used here, `UsageError` where a hook keeps it out.
        """
        heads = self.parts.heads
        if heads is None:
            raise UsageError("this agent cannot change its model: nobody plans its head")
        before, hooks = self.conversation.options.model, self.parts.hooks
        source = "command" if by_person else "auto"
        if hooks is not None and by_person:
            refusal = await hooks.on_switch(before, model, source)
            if refusal is not None:
                raise UsageError(f"A hook keeps the model {model!r} out: {refusal}")
        renewal = await heads.switch(self.conversation.prefix.head.parts, model, cause)
        self.parts.store.append([renewal.event])
        other = None if renewal.facts is None or renewal.wire is None else (renewal.facts, renewal.wire)
        self.conversation = renew_head(self.conversation, renewal.parts, renewal.options, renewal.event, other)
        self.parts.watch(HeadRenewed(renewal.event))
        if hooks is not None:
            await hooks.on_switched(before, renewal.options.model, source)
        return renewal.options.model

    def stamp(self) -> Stamp:
        return Stamp(self.parts.ids.new(), self.parts.clock.now())
