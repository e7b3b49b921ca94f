"""The gate of an opened session, and the skills that pass it and bring rules of their own into it; called by `wiring`.

Decides which part of the session each of them gets. What may happen is decided in `policy`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from compositor.adapters.approvals_rules import approved_file
from compositor.adapters.enforcement import Enforcement
from compositor.adapters.hooks.served import served
from compositor.adapters.tools.session_tools import SessionTools
from compositor.config.policy_inputs import collect_policy
from compositor.config.settings import Settings
from compositor.guarding import Guard, Guarding, build_guard
from compositor.loop.opening import plan_policy
from compositor.opened import Opened, approved_policy, current_settings
from compositor.policy.hook_handlers import HookKind
from compositor.policy.policy import Policy
from compositor.ports import Asker, HandlerWay, Presence
from compositor.runtime.events import Watcher
from compositor.runtime.renewal import CurrentPolicy
from compositor.runtime.skills import Grants, Skills
from compositor.skilled import make_skills

if TYPE_CHECKING:
    from compositor.adapters.services import Services


class Gating(Struct, frozen=True, kw_only=True):
    """What of a session the gate is made of. The servers of `services` run hooks that are a tool.

    `edges` are the opened parts of the session that this one works for, where it works for one, and `agent` is the type of agent that it is then.
    """

    opened: Opened
    force: CurrentPolicy
    tools: SessionTools
    services: Services | None
    transcript: str
    watch: Watcher
    edges: Enforcement | None = None
    agent: str = ""


def make_guard(given: Gating, asker: Asker, presence: Presence, ask_model: HandlerWay) -> tuple[Guard, Skills | None]:
    """What every call passes before it runs, and the borders it runs in. `ask_model` runs hooks that are a question to the model."""
    opened, grants = given.opened, Grants()
    contract, around = opened.contract, opened.around

    def plan(settings: Settings) -> Policy:
        inputs = collect_policy(opened.flags, settings, contract.trust, around.cwd)
        renewed = msgspec.structs.replace(contract, settings=settings, policy=inputs)
        policy = plan_policy(renewed, around, interactive=opened.policy.interactive)[0]
        return approved_policy(policy, Path(opened.home), opened.places)

    guard = build_guard(
        Guarding(
            settings=contract.settings,
            force=given.force,
            env=opened.environment.variables,
            home=opened.home,
            session_id=opened.header.session_id,
            transcript=given.transcript,
            clock=opened.clock,
            tools=given.tools,
            asker=asker,
            watch=given.watch,
            places=opened.places,
            batch_tokens=opened.limits.batch,
            load=lambda: current_settings(opened.flags, opened.places),
            plan=plan,
            granted=lambda: (*grants.rules, *presence.session_rules()),
            approvals=(str(approved_file(Path(opened.home), opened.places.root)),),
            ways={
                HookKind.MCP_TOOL: served(None if given.services is None else given.services.servers),
                HookKind.PROMPT: ask_model,
                **({} if presence.calls is None else {HookKind.CALLBACK: presence.calls}),
            },
            more_hooks=presence.hooks,
            instructions=tuple((one.path, one.file.level.name.lower()) for one in around.memory.files),
            is_resumed=given.edges is None and opened.conversation.leaf is not None,
            branches=given.edges,
            agent=given.agent,
        )
    )
    return guard, make_skills(opened, guard, given.tools, grants, given.watch)
