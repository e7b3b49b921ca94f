"""Plans the head of a running session anew, from its settings and surroundings as they are now; called by `wiring`.

Decides when that is due: in another worktree, where a section is computed for every request, and under the debug switch. What a head is made of is
decided in `loop/opening.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec
from anyio import to_thread
from msgspec import Struct

from compositor.config.contract import RunContract
from compositor.config.options import facts_under, request_facts
from compositor.context.memory.chain import MemoryChain
from compositor.context.prompt.compute import SectionMemo
from compositor.loop.opening import PlannedHead, Surroundings, plan_head, scoped_options, wire_context
from compositor.ports import Renewal
from compositor.types.request import HeadParts
from compositor.types.servers import ServerListing
from compositor.types.snapshot import EventName, PrefixEvent

REASONS: Mapping[EventName, str] = {
    EventName.CLEAR: "the user began anew",
    EventName.COMPACT: "the prompt has to show the state behind the summary",
    EventName.WORKTREE: "the working directory changed",
    EventName.HEAD_REBUILD: "the whole state is built again",
}
"""Why a reset event computes the sections anew (R072)."""


class Ground(Struct, frozen=True, kw_only=True):
    """What a head is planned from: `look` resolves settings and surroundings for a directory and a model as they are now.

    `worktree` names the worktree that the session is in, empty for none; `listings` asks the servers.
    """

    look: Callable[[str, str], tuple[RunContract, Surroundings]]
    worktree: Callable[[], str]
    listings: Callable[[], Awaitable[tuple[ServerListing, ...]]] | None = None
    is_debugged: bool = False


class SessionHeads:
    """The heads of one session. `memory` are the instruction files of the newest one."""

    def __init__(self, contract: RunContract, around: Surroundings, memo: SectionMemo, ground: Ground) -> None:
        self._contract = contract
        self._around = around
        self._memo = memo
        self._ground = ground
        self._worktree = ground.worktree()
        self.memory: MemoryChain = around.memory

    async def due(self, conversation_head: HeadParts) -> Renewal | None:
        """A reset in another worktree; a new head under the debug switch, or when the uncached section says something else."""
        worktree = self._ground.worktree()
        if worktree != self._worktree:
            self._worktree = worktree
            return await self.reset(conversation_head, EventName.WORKTREE)
        if self._ground.is_debugged:
            return await self.reset(
                conversation_head, EventName.HEAD_REBUILD, "a deliberate break: the debug switch is on (R421)"
            )
        if self._contract.settings.compositor.mcp_instructions == "section":
            return await self._recomputed(conversation_head)
        return None

    async def reset(self, conversation_head: HeadParts, name: EventName, cause: str = "") -> Renewal:
        """Sections, contexts and options computed anew, in one step, so that prompt and headers cannot disagree (R073)."""
        cwd = self._worktree or self._around.cwd
        self._contract, around = await to_thread.run_sync(self._ground.look, cwd, self._contract.model)
        self.memory = around.memory
        planned = await self._planned(around, SectionMemo())
        return self._renewal(planned, conversation_head, PrefixEvent(name=name, cause=cause or REASONS[name]))

    async def switch(self, conversation_head: HeadParts, model: str, cause: str) -> Renewal:
        """The session goes on with another model: its options, its facts, and a system prompt that names it.

        Raises `ConfigError` for a model that may not be used here.
        """
        cwd = self._worktree or self._around.cwd
        before = self._contract.model
        self._contract, around = await to_thread.run_sync(self._ground.look, cwd, model)
        planned = await self._planned(around, SectionMemo())
        said = f"{before} before, {self._contract.model} now: {cause}"
        renewal = self._renewal(planned, conversation_head, PrefixEvent(name=EventName.MODEL_SWITCH, cause=said))
        contract, options = self._contract, renewal.options
        wire = wire_context(contract.profile, contract.platform, api_version=contract.api_version, betas=options.betas)
        return msgspec.structs.replace(
            renewal,
            facts=facts_under(request_facts(contract), options.betas if contract.system_role else ()),
            wire=wire,
        )

    async def _recomputed(self, conversation_head: HeadParts) -> Renewal | None:
        planned = await self._planned(self._around, self._memo)
        if planned.parts.system == conversation_head.system:
            return None
        cause = "the section 'mcp_instructions' is computed for every request, and says something else now"
        return self._renewal(planned, conversation_head, PrefixEvent(name=EventName.HEAD_REBUILD, cause=cause))

    async def _planned(self, around: Surroundings, memo: SectionMemo) -> PlannedHead:
        said: tuple[tuple[str, str], ...] = ()
        if self._ground.listings is not None and self._contract.settings.compositor.mcp_instructions == "section":
            listings = await self._ground.listings()
            said = tuple((one.server, one.instructions) for one in listings if one.instructions)
        planned = plan_head(self._contract, around, memo, said)
        self._memo = planned.memo
        return planned

    def _renewal(self, planned: PlannedHead, conversation_head: HeadParts, event: PrefixEvent) -> Renewal:
        parts = HeadParts(
            tools=conversation_head.tools,
            system=planned.parts.system,
            context=planned.parts.context,
            omissions=planned.parts.omissions,
        )
        return Renewal(
            parts=parts, options=scoped_options(self._contract, is_debugged=self._ground.is_debugged), event=event
        )
