"""The gate before every tool call: seven stages in a fixed order, each of which can refuse and none of which can be left out.

Decides the order (R364) and that whatever goes wrong refuses (R371). It is a generator: it yields the questions it cannot
answer by itself and is sent the answers, so one driver or another performs them and the decisions stay here. It never runs
the tool and never reads anything that the model was told.

    flow = gate_flow(call, definition, policy)
    question = next(flow)                       # ResolvePaths, RunPreHook, RunAskHook or AskPerson
    question = flow.send(answer)                # or flow.throw(error) when there is no answer
    ... StopIteration.value                     # GateResult
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TypeAlias

from msgspec import Raw, Struct
from msgspec.structs import replace

from compositor.types.tools import ToolCall, ToolDefinition
from compositor.types.verdicts import Allow, Ask, Deny, Verdict

from .audit import AuditRecord, Finding, Gate, GateFinding, audit_record
from .decide import check_denied, decide
from .paths import ResolvedPath
from .policy import Policy
from .sandbox import is_confined
from .schema import check_schema
from .subject import decode_input, shell_command, subject_of


class ResolvePaths(Struct, frozen=True):
    """Where do these absolute paths really lead? Answer: a tuple of `ResolvedPath`, one for each of `paths`, in any order.

    Paths that the tool itself says it would touch may be added. `real` is the path with every symbolic link followed; of a
    path that does not exist yet, the nearest folder that does exist is followed.
    """

    call: ToolCall
    paths: tuple[str, ...]


class RunPreHook(Struct, frozen=True):
    """Run the hook of this name on the call. Answer: `HookAnswer`."""

    hook: str
    call: ToolCall


class RunAskHook(Struct, frozen=True):
    """Run the hook of this name on a call that a person is about to be asked about. Answer: `HookAnswer`, without a changed input."""

    hook: str
    call: ToolCall
    reason: str


class HookAnswer(Struct, frozen=True):
    """`denied`: the reason of a refusal. `input`: what the call shall be instead. `ask`: why a person has to say yes.

    `allowed` names a hook that answers an open question, one that no rule and no special place raised. It is no permission:
    what a rule denies or asks about stays so. Nothing set: no objection.
    """

    denied: str | None = None
    input: Raw | None = None
    ask: str | None = None
    allowed: str | None = None


class AskPerson(Struct, frozen=True):
    """May this call run, once? Answer: `True`, and nothing but `True`, is a yes."""

    call: ToolCall
    reason: str
    suggestion: str | None


GateQuestion: TypeAlias = ResolvePaths | RunPreHook | RunAskHook | AskPerson
GateAnswer: TypeAlias = tuple[ResolvedPath, ...] | HookAnswer | bool


class GateResult(Struct, frozen=True, kw_only=True):
    """The end of the line. Only an `Allow` may be executed, and only with this `input`."""

    verdict: Allow | Deny
    input: Raw
    trace: tuple[GateFinding, ...]
    audit: AuditRecord


class _State(Struct, frozen=True, kw_only=True):
    """What one stage hands to the next. `definition` is `None` for a tool that nobody registered."""

    call: ToolCall
    definition: ToolDefinition | None
    policy: Policy
    verdict: Verdict | None = None
    hook_asks: str | None = None
    hook_allows: str | None = None
    trace: tuple[GateFinding, ...] = ()


_Flow: TypeAlias = Generator[GateQuestion, GateAnswer, _State]


def gate_flow(
    call: ToolCall, definition: ToolDefinition | None, policy: Policy
) -> Generator[GateQuestion, GateAnswer, GateResult]:
    """Take one complete call through every gate. Never raises for anything that stands in its inputs.

    `definition` is the one the tool was registered with, `None` for an unknown tool. An error thrown in, an answer of the
    wrong kind or a fault of a stage refuses.
    """
    state = _State(call=call, definition=definition, policy=policy)
    for gate, stage in GATES:
        try:
            state = yield from stage(state)
        except Exception as problem:  # noqa: BLE001  # a gate that cannot run refuses, whatever the fault is (R371)
            state = _refuse(state, gate, f"the gate could not run: {type(problem).__name__}: {problem}"[:500])
        if isinstance(state.verdict, Deny):
            break
    verdict = state.verdict
    if not isinstance(verdict, (Allow, Deny)):
        verdict = Deny(reason="no gate gave a verdict", gate=Gate.EXECUTION.value)
    record = audit_record(call, state.call.input, verdict, state.trace, policy)
    return GateResult(verdict=verdict, input=state.call.input, trace=state.trace, audit=record)


def _registry(state: _State) -> _Flow:
    """A known tool, and an input of the promised shape that can be read one way only."""
    yield from ()
    return _check_input(state, Gate.REGISTRY)


def _deny_rules(state: _State) -> _Flow:
    """The limits of a helper, and deny rules, on the input as the model gave it, before any hook sees it."""
    definition = _known(state)
    resolved = yield from _resolve(state)
    outside = _outside_limits(state, resolved)
    if outside is not None:
        return _refuse(state, Gate.DENY_RULES, outside)
    denied = check_denied(state.call, definition, state.policy, resolved)
    if denied is not None:
        return _refuse(state, Gate.DENY_RULES, denied.reason, denied)
    return _note(state, Gate.DENY_RULES, Finding.PASSED, "no deny rule covers the call")


def _pre_hooks(state: _State) -> _Flow:
    """Hooks may refuse or change the input; they can never allow (R364)."""
    if not state.policy.pre_hooks:
        return _note(state, Gate.PRE_HOOKS, Finding.ABSENT, "there are no hooks")
    for hook in state.policy.pre_hooks:
        answer = yield RunPreHook(hook, state.call)
        if not isinstance(answer, HookAnswer):
            return _refuse(state, Gate.PRE_HOOKS, f"the hook {hook!r} gave no verdict")
        if answer.denied is not None:
            return _refuse(state, Gate.PRE_HOOKS, f"the hook {hook!r} refuses: {answer.denied}")
        state = replace(
            state,
            hook_asks=state.hook_asks or answer.ask,
            hook_allows=state.hook_allows or answer.allowed,
        )
        if answer.input is not None:
            state = replace(state, call=replace(state.call, input=answer.input))
            checked = _check_input(state, Gate.PRE_HOOKS)
            if isinstance(checked.verdict, Deny):
                return checked
    return _note(state, Gate.PRE_HOOKS, Finding.PASSED, f"hooks without objection: {len(state.policy.pre_hooks)}")


def _permission(state: _State) -> _Flow:
    """Limits, deny, ask, allow and mode on the final input, which a hook may have changed."""
    definition = _known(state)
    resolved = yield from _resolve(state)
    outside = _outside_limits(state, resolved)
    if outside is not None:
        return _refuse(state, Gate.PERMISSION, outside)
    verdict = decide(state.call, definition, state.policy, resolved)
    if isinstance(verdict, Deny):
        return _refuse(state, Gate.PERMISSION, verdict.reason, verdict)
    if state.hook_asks is not None:
        verdict = Ask(reason=f"a hook asks: {state.hook_asks}", rule=verdict.rule)
    elif isinstance(verdict, Ask) and verdict.open and state.hook_allows is not None:
        verdict = Allow(reason=f"{verdict.reason}, and the hook {state.hook_allows} permits it")
    finding = Finding.ASKED if isinstance(verdict, Ask) else Finding.PASSED
    return _note(replace(state, verdict=verdict), Gate.PERMISSION, finding, verdict.reason)


def _question(state: _State) -> _Flow:
    """What the permission gate left open is answered by a person, or it is refused."""
    ask = state.verdict
    if not isinstance(ask, Ask):
        return _note(state, Gate.QUESTION, Finding.PASSED, "nothing to ask")
    if not state.policy.interactive:
        reason = f"{ask.reason}, and nobody can be asked"
        return _refuse(state, Gate.QUESTION, reason, Deny(reason=reason, gate=Gate.QUESTION.value, rule=ask.rule))
    for hook in state.policy.ask_hooks:
        said = yield RunAskHook(hook, state.call, ask.reason)
        if not isinstance(said, HookAnswer):
            return _refuse(state, Gate.QUESTION, f"the hook {hook!r} gave no verdict")
        if said.denied is not None:
            return _refuse(state, Gate.QUESTION, f"the hook {hook!r} refuses: {said.denied}")
        if said.allowed is not None and ask.open and state.hook_asks is None:
            permit = Allow(reason=f"{ask.reason}, and the hook {said.allowed} permits it", rule=ask.rule)
            return _note(replace(state, verdict=permit), Gate.QUESTION, Finding.PASSED, permit.reason)
    answer = yield AskPerson(state.call, ask.reason, ask.suggestion)
    if answer is not True:
        return _refuse(state, Gate.QUESTION, f"a person said no ({ask.reason})")
    allow = Allow(reason=f"a person allowed it ({ask.reason})", rule=ask.rule)
    return _note(replace(state, verdict=allow), Gate.QUESTION, Finding.PASSED, allow.reason)


def _sandbox(state: _State) -> _Flow:
    """Whether the command runs inside borders. Where settings require that and it cannot be, nothing runs."""
    yield from ()
    sandbox, command = state.policy.sandbox, shell_command(state.call, _known(state))
    if command is None:
        return _note(state, Gate.SANDBOX, Finding.ABSENT, "the tool runs no commands")
    if not sandbox.enabled:
        return _note(state, Gate.SANDBOX, Finding.ABSENT, "settings ask for no sandbox")
    if not sandbox.available:
        if sandbox.required:
            return _refuse(state, Gate.SANDBOX, f"settings require a sandbox: {sandbox.reason}")
        return _note(state, Gate.SANDBOX, Finding.ABSENT, sandbox.reason)
    if not is_confined(command, sandbox):
        return _note(state, Gate.SANDBOX, Finding.ABSENT, "settings exclude the command from the sandbox")
    return _note(state, Gate.SANDBOX, Finding.PASSED, f"the command runs in the sandbox: {sandbox.reason}")


def _execution(state: _State) -> _Flow:
    """The last look: only a plain `Allow` goes on."""
    yield from ()
    if not isinstance(state.verdict, Allow):
        return _refuse(state, Gate.EXECUTION, "no gate allowed the call")
    return _note(state, Gate.EXECUTION, Finding.PASSED, f"{state.call.name} may run")


GATES: tuple[tuple[Gate, Callable[[_State], _Flow]], ...] = (
    (Gate.REGISTRY, _registry),
    (Gate.DENY_RULES, _deny_rules),
    (Gate.PRE_HOOKS, _pre_hooks),
    (Gate.PERMISSION, _permission),
    (Gate.QUESTION, _question),
    (Gate.SANDBOX, _sandbox),
    (Gate.EXECUTION, _execution),
)


def _check_input(state: _State, gate: Gate) -> _State:
    definition = state.definition
    if definition is None or definition.name != state.call.name:
        return _refuse(state, gate, f"there is no tool named {state.call.name!r}")
    problems = check_schema(definition.input_schema, decode_input(state.call))
    if problems:
        return _refuse(state, gate, f"the input does not fit {state.call.name!r}: {'; '.join(problems)}"[:2000])
    return _note(state, gate, Finding.PASSED, "the tool is known and the input has its shape")


def _outside_limits(state: _State, resolved: Mapping[str, ResolvedPath]) -> str | None:
    limits = state.policy.limits
    return None if limits is None else limits.refusal(state.call.name, tuple({path.real for path in resolved.values()}))


def _known(state: _State) -> ToolDefinition:
    if state.definition is None:
        raise ValueError("the tool is unknown")
    return state.definition


def _resolve(state: _State) -> Generator[GateQuestion, GateAnswer, Mapping[str, ResolvedPath]]:
    asked = subject_of(state.call, _known(state), state.policy).asked_paths
    answer = yield ResolvePaths(state.call, asked)
    if not isinstance(answer, tuple) or not all(isinstance(path, ResolvedPath) for path in answer):
        raise ValueError("the real places of the paths were not told")
    resolved = {path.path: path for path in answer}
    missing = [path for path in asked if path not in resolved]
    if missing or not all(path.path.startswith("/") and path.real.startswith("/") for path in answer):
        raise ValueError(f"the real place of {missing[0] if missing else 'a path'!r} was not told")
    return resolved


def _note(state: _State, gate: Gate, finding: Finding, reason: str) -> _State:
    return replace(state, trace=(*state.trace, GateFinding(gate, finding, reason)))


def _refuse(state: _State, gate: Gate, reason: str, deny: Deny | None = None) -> _State:
    verdict = Deny(reason=reason, gate=gate.value, rule=None if deny is None else deny.rule)
    return _note(replace(state, verdict=verdict), gate, Finding.REFUSED, reason)
