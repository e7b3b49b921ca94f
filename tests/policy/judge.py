"""One way for every test of this folder to take a call through the gate: rules as text in, `allow`, `ask` or `deny` out."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from compositor.policy.gate import AskPerson, GateResult, HookAnswer, ResolvePaths, RunPreHook, gate_flow
from compositor.policy.paths import ResolvedPath
from compositor.policy.policy import Policy
from compositor.policy.rules import parse_rules
from compositor.types.json import raw_json
from compositor.types.tools import ToolCall, ToolDefinition, ToolOrigin
from compositor.types.verdicts import Allow, PermissionRule, RuleEffect

HOME = "/home/u"
CWD = "/home/u/proj"
MORE = "/srv/more"
OBJECT = raw_json({"type": "object"})


def make_rules(level: str = "user", base: str | None = None, **texts: tuple[str, ...]) -> tuple[PermissionRule, ...]:
    """Rules of one level, in the order deny, ask, allow. Every text has to be a rule."""
    rules: list[PermissionRule] = []
    for effect in RuleEffect:
        parsed = parse_rules(texts.get(effect.value, ()), effect=effect, level=level, base=base or f"{HOME}/.claude")
        assert len(parsed.rules) == len(texts.get(effect.value, ())), (parsed.diagnostics, parsed.errors)
        rules += parsed.rules
    return tuple(rules)


def make_policy(*rules: PermissionRule, **more: Any) -> Policy:
    values: dict[str, Any] = {"cwd": CWD, "roots": (CWD, MORE), "home": HOME, "interactive": True, "trusted": True}
    return Policy(rules=rules, **{**values, **more})


def make_call(tool: str, **fields: Any) -> ToolCall:
    return ToolCall(id="toolu_1", name=tool, input=raw_json(fields))


def make_definition(tool: str, **more: Any) -> ToolDefinition:
    origin = ToolOrigin.MCP if tool.startswith("mcp__") else ToolOrigin.BUILTIN
    return ToolDefinition(**{"name": tool, "description": "d", "input_schema": OBJECT, "origin": origin, **more})


def run_gate(
    call: ToolCall,
    policy: Policy,
    *,
    definition: ToolDefinition | None = None,
    links: Mapping[str, str] | None = None,
    person: Callable[[AskPerson], Any] = lambda question: True,
    hook: Callable[[RunPreHook], Any] = lambda question: HookAnswer(),
    extra: tuple[ResolvedPath, ...] = (),
) -> tuple[GateResult, list[object]]:
    """Drive the flow to its end; gives the result and the questions. `links` maps a tidied path to its real place."""
    questions: list[object] = []
    flow = gate_flow(call, definition or make_definition(call.name), policy)
    answer: Any = None
    try:
        while True:
            question = flow.send(answer)
            questions.append(question)
            if isinstance(question, ResolvePaths):
                answer = (*(ResolvedPath(path, real_place(path, links or {})) for path in question.paths), *extra)
            elif isinstance(question, AskPerson):
                answer = person(question)
            else:
                answer = hook(question)
    except StopIteration as end:
        return end.value, questions


def real_place(path: str, links: Mapping[str, str]) -> str:
    tidy = posixpath.normpath(path)
    for link, target in links.items():
        if tidy == link or tidy.startswith(link + "/"):
            return target + tidy[len(link) :]
    return tidy


def judge(call: ToolCall, policy: Policy, links: Mapping[str, str] | None = None) -> str:
    """`allow`, `ask` (a person was asked) or `deny`."""
    result, questions = run_gate(call, policy, links=links)
    if any(isinstance(question, AskPerson) for question in questions):
        return "ask"
    return "allow" if isinstance(result.verdict, Allow) else "deny"
