"""A fault in each step of the gate refuses, with the step and the fault in the reason (law 7, R371); hooks before a question free what is open only."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compositor.policy import gate
from compositor.policy.audit import Gate
from compositor.policy.gate import GateResult, HookAnswer, RunAskHook
from compositor.policy.limits import ToolLimits
from compositor.types.verdicts import Allow, Deny, PermissionMode
from tests.policy.judge import make_call, make_policy, make_rules, run_gate

TOUCH = make_call("Bash", command="touch a")
FREEST = make_policy(*make_rules(allow=("Bash",)), mode=PermissionMode.BYPASS, pre_hooks=("h",))


def breaking(*, first: bool) -> Callable[[Any], Iterator[Any]]:
    """A stage that breaks as soon as it is entered, or behind its first question."""

    def stage(state: Any) -> Iterator[Any]:
        if not first:
            yield gate.RunPreHook("h", state.call)
        raise ZeroDivisionError("broken")

    return stage


@pytest.mark.req("R371", "R363")
@pytest.mark.parametrize("first", [True, False], ids=["at once", "behind a question"])
@pytest.mark.parametrize("at", range(len(gate.GATES)), ids=[name.value for name, _ in gate.GATES])
def test_a_fault_in_each_step_refuses_what_everything_else_allows(
    monkeypatch: pytest.MonkeyPatch, at: int, first: bool
) -> None:
    assert isinstance(run_gate(TOUCH, FREEST)[0].verdict, Allow)
    name = gate.GATES[at][0]
    broken = (*gate.GATES[:at], (name, breaking(first=first)), *gate.GATES[at + 1 :])
    monkeypatch.setattr(gate, "GATES", broken)
    result: GateResult = run_gate(TOUCH, FREEST)[0]
    assert isinstance(result.verdict, Deny)
    assert result.verdict.gate == name.value
    assert result.verdict.reason == "the gate could not run: ZeroDivisionError: broken"
    assert not result.audit.allowed
    assert result.trace[-1].gate is name


@pytest.mark.req("R371")
def test_a_gate_without_stages_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "GATES", ())
    result = run_gate(TOUCH, FREEST)[0]
    assert isinstance(result.verdict, Deny)
    assert result.verdict.gate == Gate.EXECUTION.value


ASKED = {
    "open": make_policy(ask_hooks=("PermissionRequest",)),
    "a rule asks": make_policy(*make_rules(ask=("Bash(touch *)",)), ask_hooks=("PermissionRequest",)),
    "plan mode": make_policy(mode=PermissionMode.PLAN, ask_hooks=("PermissionRequest",)),
}


@pytest.mark.req("R364", "R371")
@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        (HookAnswer(allowed="h"), {"open"}),
        (HookAnswer(), set()),
        (HookAnswer(denied="no", allowed="h"), set()),
        (True, set()),
        (None, set()),
    ],
)
@pytest.mark.parametrize("name", ASKED)
def test_a_hook_before_a_question_answers_an_open_one_only(name: str, answer: Any, allowed: set[str]) -> None:
    call = make_call("Bash", command="make install") if name == "plan mode" else TOUCH
    result, questions = run_gate(call, ASKED[name], person=lambda _: False, hook=lambda _: answer)
    assert isinstance(result.verdict, Allow) == (name in allowed)
    if not isinstance(result.verdict, Allow):
        assert "person said no" in result.verdict.reason or "hook" in result.verdict.reason
    assert any(isinstance(question, RunAskHook) for question in questions)


@pytest.mark.req("R364")
def test_what_a_hook_asked_itself_no_other_hook_answers() -> None:
    policy = make_policy(*make_rules(allow=("Bash",)), pre_hooks=("h",), ask_hooks=("PermissionRequest",))

    def hook(question: object) -> HookAnswer:
        return HookAnswer(allowed="h") if isinstance(question, RunAskHook) else HookAnswer(ask="look")

    result, _ = run_gate(TOUCH, policy, person=lambda _: False, hook=hook)
    assert isinstance(result.verdict, Deny)


@pytest.mark.req("R364")
def test_where_nobody_can_be_asked_no_hook_stands_in() -> None:
    alone = make_policy(interactive=False, ask_hooks=("PermissionRequest",))
    result, questions = run_gate(TOUCH, alone, hook=lambda _: HookAnswer(allowed="h"))
    assert isinstance(result.verdict, Deny)
    assert not any(isinstance(question, RunAskHook) for question in questions)


@pytest.mark.req("R364", "R330")
def test_no_hook_leads_a_helper_out_of_its_limits() -> None:
    limits = ToolLimits(tools=("Write",), file="/home/u/proj/notes")
    policy = make_policy(*make_rules(allow=("Edit",)), mode=PermissionMode.BYPASS, limits=limits, pre_hooks=("h",))
    inside = make_call("Write", file_path="/home/u/proj/notes", content="x")
    moved = HookAnswer(input=make_call("Write", file_path="/home/u/proj/other", content="x").input)
    assert isinstance(run_gate(inside, policy)[0].verdict, Allow)
    result = run_gate(inside, policy, hook=lambda _: moved)[0]
    assert isinstance(result.verdict, Deny)
    assert result.verdict.gate == Gate.PERMISSION.value
