"""The order of the gates, that each alone blocks, and that whatever goes wrong refuses."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from compositor.policy.audit import Finding, Gate
from compositor.policy.gate import (
    GATES,
    AskPerson,
    GateResult,
    HookAnswer,
    ResolvePaths,
    RunPreHook,
    _execution,
    _State,
    gate_flow,
)
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy, SandboxState
from compositor.types.json import raw_json
from compositor.types.tools import ToolCall
from compositor.types.verdicts import Allow, Deny, PermissionMode
from tests.policy.judge import CWD, make_call, make_definition, make_policy, make_rules, run_gate

LS = make_call("Bash", command="ls")
ORDER = ["registry", "deny_rules", "pre_hooks", "permission", "question", "sandbox", "execution"]


def refusal(result: GateResult) -> tuple[str, str]:
    assert isinstance(result.verdict, Deny), result.verdict
    assert result.trace[-1].finding is Finding.REFUSED
    assert result.trace[-1].gate.value == result.verdict.gate
    return result.verdict.gate, result.verdict.reason


@pytest.mark.req("R364")
def test_the_gates_stand_in_one_order() -> None:
    assert [gate.value for gate, _ in GATES] == ORDER
    assert [gate.value for gate in Gate] == ORDER


@pytest.mark.req("R364", "R013")
def test_a_call_passes_every_gate_in_order_and_each_says_what_it_found() -> None:
    result, questions = run_gate(LS, make_policy(pre_hooks=("lint",)))
    assert isinstance(result.verdict, Allow)
    assert [finding.gate.value for finding in result.trace] == ORDER
    assert [type(question) for question in questions] == [ResolvePaths, RunPreHook, ResolvePaths]
    assert all(finding.reason for finding in result.trace)
    assert result.input is LS.input


def test_what_cannot_be_checked_is_reported_as_absent() -> None:
    result, _ = run_gate(LS, make_policy())
    absent = {finding.gate for finding in result.trace if finding.finding is Finding.ABSENT}
    assert absent == {Gate.PRE_HOOKS, Gate.SANDBOX}


@pytest.mark.req("R363")
def test_the_registry_alone_blocks() -> None:
    flow = gate_flow(LS, None, make_policy(mode=PermissionMode.BYPASS))
    with pytest.raises(StopIteration) as end:
        next(flow)
    assert refusal(end.value.value) == ("registry", "there is no tool named 'Bash'")
    other, _ = run_gate(LS, make_policy(mode=PermissionMode.BYPASS), definition=make_definition("Read"))
    assert refusal(other)[0] == "registry"


@pytest.mark.req("R363")
@pytest.mark.parametrize(
    ("fields", "told"),
    [({}, "command"), ({"command": 3}, "string"), ({"command": "ls", "extra": 1}, "extra")],
)
def test_an_input_of_another_shape_is_refused_with_the_place(fields: dict[str, Any], told: str) -> None:
    schema = {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
        "additionalProperties": False,
    }
    definition = make_definition("Bash", input_schema=raw_json(schema))
    result, questions = run_gate(make_call("Bash", **fields), make_policy(), definition=definition)
    gate, reason = refusal(result)
    assert gate == "registry"
    assert told in reason
    assert not questions


@pytest.mark.req("R363")
def test_a_deny_rule_alone_blocks_before_any_hook_runs() -> None:
    policy = make_policy(*make_rules(deny=("Bash(ls:*)",)), mode=PermissionMode.BYPASS, pre_hooks=("lint",))
    result, questions = run_gate(LS, policy)
    assert refusal(result) == ("deny_rules", "the rule 'Bash(ls:*)' forbids it")
    assert not any(isinstance(question, RunPreHook) for question in questions)
    assert isinstance(result.verdict, Deny)
    assert result.verdict.rule is not None


@pytest.mark.req("R363")
def test_a_hook_alone_blocks() -> None:
    policy = make_policy(mode=PermissionMode.BYPASS, pre_hooks=("first", "second"))
    result, questions = run_gate(LS, policy, hook=lambda question: HookAnswer(denied=f"not with {question.hook}"))
    assert refusal(result) == ("pre_hooks", "the hook 'first' refuses: not with first")
    assert [question.hook for question in questions if isinstance(question, RunPreHook)] == ["first"]


@pytest.mark.req("R363", "R366")
def test_the_mode_alone_blocks() -> None:
    result, questions = run_gate(make_call("Edit", file_path="a"), make_policy(mode=PermissionMode.PLAN))
    assert refusal(result)[0] == "permission"
    assert not any(isinstance(question, AskPerson) for question in questions)


@pytest.mark.req("R363")
@pytest.mark.parametrize("answer", [False, None, 1, "yes", "true", object(), [True]])
def test_a_person_alone_blocks_and_only_true_is_a_yes(answer: object) -> None:
    result, questions = run_gate(make_call("Bash", command="make"), make_policy(), person=lambda question: answer)
    assert refusal(result)[0] == "question"
    assert [type(question) for question in questions][-1] is AskPerson


@pytest.mark.req("R363")
def test_without_a_person_a_question_is_a_refusal() -> None:
    result, questions = run_gate(make_call("Bash", command="make"), make_policy(interactive=False))
    gate, reason = refusal(result)
    assert gate == "question"
    assert "nobody can be asked" in reason
    assert not any(isinstance(question, AskPerson) for question in questions)


@pytest.mark.req("R363")
def test_a_required_sandbox_alone_blocks() -> None:
    result, _ = run_gate(
        LS,
        make_policy(
            mode=PermissionMode.BYPASS, sandbox=SandboxState(enabled=True, required=True, reason="it is not installed")
        ),
    )
    assert refusal(result)[0] == "sandbox"


@pytest.mark.req("R363")
def test_execution_alone_blocks_what_no_gate_allowed() -> None:
    state = _State(call=LS, definition=make_definition("Bash"), policy=make_policy())
    flow = _execution(state)
    with pytest.raises(StopIteration) as end:
        next(flow)
    assert isinstance(end.value.value.verdict, Deny)


@pytest.mark.req("R364")
def test_a_hook_changes_the_input_and_the_rules_judge_the_changed_one() -> None:
    policy = make_policy(*make_rules(deny=("Bash(rm:*)",)), mode=PermissionMode.BYPASS, pre_hooks=("rewrite",))
    worse, _ = run_gate(LS, policy, hook=lambda question: HookAnswer(input=raw_json({"command": "rm x"})))
    assert refusal(worse) == ("permission", "the rule 'Bash(rm:*)' forbids it")
    better, questions = run_gate(LS, policy, hook=lambda question: HookAnswer(input=raw_json({"command": "pwd"})))
    assert isinstance(better.verdict, Allow)
    assert bytes(better.input) == b'{"command":"pwd"}'
    assert [bytes(one.call.input) for one in questions if isinstance(one, ResolvePaths)][-1] == b'{"command":"pwd"}'


@pytest.mark.req("R364")
def test_a_hook_can_never_turn_a_deny_into_an_allow() -> None:
    policy = make_policy(*make_rules(deny=("Bash(rm:*)",)), pre_hooks=("rewrite",))
    call = make_call("Bash", command="rm x")
    result, questions = run_gate(call, policy, hook=lambda question: HookAnswer(input=raw_json({"command": "ls"})))
    assert refusal(result)[0] == "deny_rules"
    assert not any(isinstance(question, RunPreHook) for question in questions)


def test_the_second_hook_sees_what_the_first_made_of_the_call() -> None:
    seen: list[bytes] = []

    def hook(question: RunPreHook) -> HookAnswer:
        seen.append(bytes(question.call.input))
        return HookAnswer(input=raw_json({"command": "pwd"}))

    run_gate(LS, make_policy(pre_hooks=("one", "two")), hook=hook)
    assert seen == [b'{"command":"ls"}', b'{"command":"pwd"}']


def test_a_changed_input_has_to_fit_the_schema_too() -> None:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    definition = make_definition("Bash", input_schema=raw_json(schema))
    policy = make_policy(mode=PermissionMode.BYPASS, pre_hooks=("rewrite",))
    result, _ = run_gate(LS, policy, definition=definition, hook=lambda question: HookAnswer(input=Raw(b"{}")))
    assert refusal(result)[0] == "pre_hooks"


@pytest.mark.req("R371")
@pytest.mark.parametrize("answer", [None, True, "fine", {"denied": None}, ("x",)])
def test_a_hook_without_a_verdict_refuses(answer: object) -> None:
    policy = make_policy(mode=PermissionMode.BYPASS, pre_hooks=("guard",))
    assert refusal(run_gate(LS, policy, hook=lambda question: answer)[0])[0] == "pre_hooks"


@pytest.mark.req("R371")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        (),
        [],
        ("/x",),
        (ResolvedPath(f"{CWD}/b", f"{CWD}/b"),),
        (ResolvedPath(f"{CWD}/a", "a"),),
        (ResolvedPath(f"{CWD}/a", f"{CWD}/a"), ResolvedPath("rel", "/x")),
    ],
)
def test_a_path_whose_place_was_not_told_refuses(answer: Any) -> None:
    flow = gate_flow(make_call("Read", file_path="a"), make_definition("Read"), make_policy(mode=PermissionMode.BYPASS))
    question = next(flow)
    assert isinstance(question, ResolvePaths)
    assert question.paths == (f"{CWD}/a",)
    with pytest.raises(StopIteration) as end:
        flow.send(answer)
    assert refusal(end.value.value)[0] == "deny_rules"


@pytest.mark.req("R371")
@pytest.mark.parametrize("at", [0, 1, 2, 3])
@pytest.mark.parametrize("error", [OSError("gone"), RuntimeError("x"), KeyError("k"), TimeoutError(), RecursionError()])
def test_an_error_thrown_into_any_question_refuses_there(at: int, error: Exception) -> None:
    call = make_call("Bash", command="make")
    answers: list[Any] = [(), HookAnswer(), (), True]
    flow = gate_flow(call, make_definition("Bash"), make_policy(pre_hooks=("guard",)))
    next(flow)
    for answer in answers[:at]:
        flow.send(answer)
    with pytest.raises(StopIteration) as end:
        flow.throw(error)
    gate, reason = refusal(end.value.value)
    assert gate == ["deny_rules", "pre_hooks", "permission", "question"][at]
    assert type(error).__name__ in reason


@pytest.mark.req("R371")
@pytest.mark.parametrize(
    "schema",
    [
        b"",
        b"{",
        b"3",
        b'{"type": "nonsense"}',
        b'{"$ref": "https://example.invalid/schema"}',
        b'{"$ref": "file:///etc/passwd"}',
    ],
)
def test_a_schema_that_cannot_be_used_refuses(schema: bytes) -> None:
    definition = make_definition("Bash", input_schema=Raw(schema))
    result, questions = run_gate(LS, make_policy(mode=PermissionMode.BYPASS), definition=definition)
    assert refusal(result)[0] == "registry"
    assert not questions


@pytest.mark.req("R371")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"ls"',
        b'{"command":"ls","command":"rm -rf x"}',
        b'{"command":NaN}',
        b"\xff",
        b"[" * 100_000,
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_an_input_that_two_readers_may_read_in_two_ways_refuses(data: bytes) -> None:
    call = ToolCall(id="1", name="Bash", input=Raw(data))
    assert refusal(run_gate(call, make_policy(mode=PermissionMode.BYPASS))[0])[0] == "registry"


def test_a_flow_that_is_given_up_leaves_nothing_behind() -> None:
    flow = gate_flow(LS, make_definition("Bash"), make_policy())
    next(flow)
    flow.close()
    with pytest.raises(StopIteration):
        next(flow)


def test_a_path_that_only_the_tool_knows_is_judged_too() -> None:
    extra = (ResolvedPath("/etc/x", "/etc/x"),)
    assert isinstance(run_gate(make_call("Read", file_path="a"), make_policy(interactive=False))[0].verdict, Allow)
    result, _ = run_gate(make_call("Read", file_path="a"), make_policy(interactive=False), extra=extra)
    assert refusal(result)[0] == "question"
    policy = make_policy(*make_rules(allow=("mcp__fs",), deny=("Edit(//etc/**)",)))
    result, _ = run_gate(make_call("mcp__fs__write", name="x"), policy, extra=extra)
    assert refusal(result)[0] == "deny_rules"


def test_a_question_says_why_and_what_an_always_would_save() -> None:
    def asked(call: ToolCall, policy: Policy) -> AskPerson:
        return next(question for question in run_gate(call, policy)[1] if isinstance(question, AskPerson))

    policy = make_policy(*make_rules(ask=("Bash(git push:*)",)))
    assert asked(make_call("Bash", command="npm  test"), policy).suggestion == "Bash(npm test)"
    assert asked(make_call("Bash", command="npm test && x"), policy).suggestion is None
    assert asked(make_call("Bash", command="rm x"), policy).suggestion is None
    assert asked(make_call("Bash", command="git reset --hard"), policy).suggestion is None
    assert asked(make_call("Bash", command="git push"), policy).reason == "the rule 'Bash(git push:*)' asks"
    assert asked(make_call("WebFetch", url="https://A.test/x"), policy).suggestion == "WebFetch(domain:a.test)"
    assert asked(make_call("Edit", file_path="a"), policy).suggestion is None


@pytest.mark.parametrize("command", ["npm test", "make a b", "echo 'a b' > x", "cat ../x", "go vet ./..."])
def test_a_saved_suggestion_allows_exactly_the_call_it_was_made_for(command: str) -> None:
    question = run_gate(make_call("Bash", command=command), make_policy())[1][-1]
    if isinstance(question, AskPerson) and question.suggestion is not None:
        policy = make_policy(*make_rules(allow=(question.suggestion,)), interactive=False)
        assert isinstance(run_gate(make_call("Bash", command=command), policy)[0].verdict, Allow)
        assert isinstance(run_gate(make_call("Bash", command=command + " more"), policy)[0].verdict, Deny)
    else:
        assert ">" in command


@pytest.mark.req("R364")
def test_one_flow_runs_under_any_driver() -> None:
    def drive(answer: Callable[[object], Any]) -> GateResult:
        flow = gate_flow(LS, make_definition("Bash"), make_policy())
        question = next(flow)
        while True:
            try:
                question = flow.send(answer(question))
            except StopIteration as end:
                return end.value

    one = drive(lambda question: tuple(ResolvedPath(path, path) for path in question.paths))
    two = drive(lambda question: tuple(ResolvedPath(path, path) for path in reversed(question.paths)))
    assert one.verdict == two.verdict
    assert one.audit == two.audit
