"""Drives the gate: answers its questions and turns its result into an admission or a denial.

Decides nothing: what is asked, and what an answer means, stands in `policy/gate.py`. A question that cannot be answered is thrown into the
flow, which refuses (law 7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from compositor.context.tools.catalog import display
from compositor.policy.gate import AskPerson, GateAnswer, GateQuestion, GateResult, ResolvePaths, RunPreHook, gate_flow
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.ports import Asker, Permission, Tool, ToolScope
from compositor.types.tools import OutcomeKind, ToolCall, ToolDefinition, ToolOutcome
from compositor.types.verdicts import Allow

from .driver import Admission
from .events import CallJudged, Watcher


class Gatekeeper(Struct, frozen=True, kw_only=True):
    """The way of every call from the model to a tool. `resolve` gives the real place of an absolute path."""

    tools: Mapping[str, Tool]
    policy: Policy
    scope: Callable[[], ToolScope]
    resolve: Callable[[str], str]
    asker: Asker
    watch: Watcher

    async def judge(self, call: ToolCall) -> Admission:
        """The call with its final input, or the outcome that tells the model why it did not run."""
        tool = self.tools.get(call.name)
        scope = self.scope()
        policy = msgspec.structs.replace(self.policy, cwd=scope.cwd)
        result = await self._run(call, tool, scope, policy)
        self.watch(CallJudged(call, display(call), result.verdict, result.trace))
        if isinstance(result.verdict, Allow):
            return ToolCall(id=call.id, name=call.name, input=result.input)
        text = f"The call was not allowed: {result.verdict.reason}."
        return ToolOutcome(
            call_id=call.id, kind=OutcomeKind.DENIED, content=text, display=f"{display(call)}: not allowed"
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
            case RunPreHook(hook=hook):
                raise LookupError(f"there is no hook {hook!r} to run")
