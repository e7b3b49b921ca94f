"""Drives the gate: answers its questions and turns its result into an admission or a denial.

Decides nothing: what is asked, and what an answer means, stands in `policy/gate.py`. A question that cannot be answered is thrown into the
flow, which refuses (law 7).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec
from msgspec import Struct

from compositor.context.tools.catalog import display
from compositor.policy.audit import AuditRecord, Gate
from compositor.policy.gate import (
    AskPerson,
    GateAnswer,
    GateQuestion,
    GateResult,
    ResolvePaths,
    RunAskHook,
    RunPreHook,
    gate_flow,
)
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.ports import Asker, Permission, Tool, ToolScope
from compositor.types.tools import OutcomeKind, ToolCall, ToolDefinition, ToolOutcome
from compositor.types.verdicts import Allow, Deny, PermissionMode, PermissionRule

from .driver import Admission
from .events import CallEnded, CallJudged, Watcher
from .hooks import Hooks


class Gatekeeper(Struct, frozen=True, kw_only=True):
    """The way of every call from the model to a tool.

    `resolve` gives the real place of an absolute path. `mode` is the permission mode of the moment where that can change in a session.
    `renewed` gives the policy in force where settings can change meanwhile, `granted` the rules of the moment beside it. With `quiet` nobody is asked.
    A call whose verdict `log` cannot keep does not run.
    """

    tools: Mapping[str, Tool]
    policy: Policy
    scope: Callable[[], ToolScope]
    resolve: Callable[[str], str]
    asker: Asker
    watch: Watcher
    mode: Callable[[], PermissionMode] | None = None
    hooks: Hooks | None = None
    log: Callable[[AuditRecord], None] = lambda _record: None
    renewed: Callable[[], Awaitable[Policy]] | None = None
    granted: Callable[[], tuple[PermissionRule, ...]] = tuple
    quiet: bool = False

    async def judge(self, call: ToolCall) -> Admission:
        """The call with its final input, or the outcome that tells the model why it did not run.

        Rules and persons see the real name of a tool, also where the model knows it by a legal one (F10).
        """
        tool = self.tools.get(call.name)
        wire_name = call.name
        if tool is not None and tool.definition.name != wire_name:
            call = msgspec.structs.replace(call, name=tool.definition.name)
        scope = self.scope()
        policy = await self._policy(scope)
        result = await self._run(call, tool, scope, policy)
        result = _logged(result, self.log)
        self.watch(CallJudged(call, display(call), result.verdict, result.trace))
        if isinstance(result.verdict, Allow):
            return ToolCall(id=call.id, name=wire_name, input=result.input)
        text = f"The call was not allowed: {result.verdict.reason}."
        denial = ToolOutcome(
            call_id=call.id, kind=OutcomeKind.DENIED, content=text, display=f"{display(call)}: not allowed"
        )
        self.watch(CallEnded(call, denial))
        if self.hooks is not None and policy.mode is PermissionMode.AUTO and result.verdict.rule is None:
            await self.hooks.on_denied(call, result.verdict.reason)
        return denial

    async def _policy(self, scope: ToolScope) -> Policy:
        """What is in force at this moment."""
        policy = self.policy if self.renewed is None else await self.renewed()
        return msgspec.structs.replace(
            policy,
            cwd=scope.cwd,
            mode=self.policy.mode if self.mode is None else self.mode(),
            rules=(*policy.rules, *self.granted()),
            interactive=policy.interactive and not self.quiet,
        )

    async def _run(self, call: ToolCall, tool: Tool | None, scope: ToolScope, policy: Policy) -> GateResult:
        definition: ToolDefinition | None = tool.definition if tool is not None else None
        flow = gate_flow(call, definition, policy)
        try:
            question = next(flow)
            while True:
                try:
                    answer = await self._answer(question, tool, scope)
                except Exception as problem:  # noqa: BLE001 - no answer means a refusal, which the flow words (R371)
                    question = flow.throw(problem)
                else:
                    question = flow.send(answer)
        except StopIteration as end:
            result: GateResult = end.value
            return result

    async def _answer(self, question: GateQuestion, tool: Tool | None, scope: ToolScope) -> GateAnswer:
        match question:
            case ResolvePaths(call=call, paths=paths):
                touched = tool.paths(call, scope) if tool is not None else ()
                return tuple(ResolvedPath(path, self.resolve(path)) for path in dict.fromkeys((*paths, *touched)))
            case AskPerson(call=call, reason=reason, suggestion=suggestion):
                asked = Permission(call=call, display=display(call), reason=reason, suggestion=suggestion)
                return await self.asker.ask(asked)
            case RunPreHook(hook=hook, call=call):
                if self.hooks is None:
                    raise LookupError(f"there is no hook {hook!r} to run")
                return await self.hooks.before_call(call)
            case RunAskHook(hook=hook, call=call, reason=reason):
                if self.hooks is None:
                    raise LookupError(f"there is no hook {hook!r} to run")
                return await self.hooks.before_question(call, reason)


def _logged(result: GateResult, log: Callable[[AuditRecord], None]) -> GateResult:
    try:
        log(result.audit)
    except OSError as problem:
        reason = f"the log of verdicts cannot be written: {problem.strerror or problem}"
        return msgspec.structs.replace(result, verdict=Deny(reason=reason, gate=Gate.EXECUTION.value))
    return result
