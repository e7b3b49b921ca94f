"""Joins a session's compactor with the owners of what stands beside its conversation; called by `wiring`.

Decides which implementation each owner is. What is restored is decided in `context/compaction`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from compositor.adapters.owners import SessionOwners
from compositor.adapters.tools.session_tools import SessionTools
from compositor.config.contract import RunContract
from compositor.config.platforms import Ability
from compositor.config.price import Price
from compositor.context.compaction.budget import plan_budget
from compositor.heads import SessionHeads
from compositor.loop.opening import Surroundings
from compositor.runtime.compaction import Compactor
from compositor.runtime.events import Watcher


class Standing(Struct, frozen=True, kw_only=True):
    """What the owners are made of. `heads` plans the head anew, `may_read` asks the rules about a path.

    `settle` waits for a memory helper under way.
    """

    contract: RunContract
    around: Surroundings
    heads: SessionHeads
    home: str
    session_id: str
    transcript: str
    tools: SessionTools
    price: Price | None
    may_read: Callable[[str], bool]
    settle: Callable[[], Awaitable[None]] | None = None


def make_compactor(given: Standing, watch: Watcher) -> Compactor:
    """The compactor of one session, with the budget of its contract."""
    contract = given.contract

    owners = SessionOwners(
        cwd=given.around.cwd,
        transcript=given.transcript,
        files=given.tools.box.files,
        tasks=given.tools.tasks,
        home=given.home,
        session_id=given.session_id,
        memory=lambda: given.heads.memory,
        may_read=given.may_read,
        settle=given.settle,
    )
    budget = plan_budget(contract.window.tokens, contract.max_output, contract.compaction)
    asks = contract.settings.compositor.server_summary and contract.platform.has(Ability.ON_DEMAND_COMPACTION)
    return Compactor(owners, given.heads, budget, watch, price=given.price, server_summary=asks)
