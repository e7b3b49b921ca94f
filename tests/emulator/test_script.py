"""The script format: what it takes, what it refuses, which tool an action means."""

import pytest

from compositor.emulator.script import Condition, ScriptedCall, ToolMissing, holds, parse_script, resolve_action
from compositor.errors import ConfigError


def tool(name, *properties):
    return {"name": name, "input_schema": {"type": "object", "properties": {name: {} for name in properties}}}


OURS = (
    tool("Read", "file_path", "offset"),
    tool("Edit", "file_path", "old_string", "new_string"),
    tool("Write", "file_path", "content"),
    tool("Bash", "command", "timeout"),
    tool("Glob", "pattern", "path"),
    tool("Grep", "pattern", "path"),
)
OTHERS = (tool("view", "path"), tool("str_replace", "path", "old_str", "new_str"), tool("shell", "cmd"))


@pytest.mark.parametrize(
    ("action", "tools", "expected"),
    [
        ({"read": "a.py"}, OURS, ("Read", {"file_path": "a.py"})),
        ({"read": {"path": "a.py", "offset": 3}}, OURS, ("Read", {"file_path": "a.py", "offset": 3})),
        ({"read": "a.py"}, OTHERS, ("view", {"path": "a.py"})),
        (
            {"edit": {"path": "a", "old": "x", "new": "y"}},
            OURS,
            ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ),
        (
            {"edit": {"path": "a", "old": "x", "new": "y"}},
            OTHERS,
            ("str_replace", {"path": "a", "old_str": "x", "new_str": "y"}),
        ),
        ({"write": {"path": "a", "content": "c"}}, OURS, ("Write", {"file_path": "a", "content": "c"})),
        ({"run": "ls"}, OURS, ("Bash", {"command": "ls"})),
        ({"run": "ls"}, OTHERS, ("shell", {"cmd": "ls"})),
        ({"find": "*.py"}, OURS, ("Glob", {"pattern": "*.py"})),
        ({"search": {"pattern": "x", "path": "src"}}, OURS, ("Grep", {"pattern": "x", "path": "src"})),
        ({"call": {"tool": "Bash", "input": {"any": 1}}}, OURS, ("Bash", {"any": 1})),
        ({"call": {"tool": "Bash"}}, OURS, ("Bash", {})),
    ],
)
def test_an_action_finds_its_tool_and_its_inputs(action, tools, expected):
    assert resolve_action(action, tools) == ScriptedCall(*expected)


@pytest.mark.parametrize(
    ("action", "tools", "phrase"),
    [
        ({"read": "a"}, (), "no tool that can 'read'"),
        ({"write": {"path": "a", "content": "c"}}, OTHERS, "no tool that can 'write'"),
        ({"read": {"path": "a", "colour": 1}}, OURS, "the tool 'Read' has no input for 'colour'"),
        ({"call": {"tool": "Gone"}}, OURS, "no tool 'Gone'"),
    ],
)
def test_a_tool_that_is_absent_is_said_clearly(action, tools, phrase):
    found = resolve_action(action, tools)
    assert isinstance(found, ToolMissing)
    assert phrase in found.reason


def asked(content):
    return {"model": "m-1", "messages": [{"role": "user", "content": content}]}


def result(content, **more):
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **more}


@pytest.mark.parametrize(
    ("condition", "results", "expected"),
    [
        (None, [], True),
        (Condition(result_contains="ok"), [], False),
        (Condition(result_contains="ok"), [result("all ok")], True),
        (Condition(result_contains="ok"), [result("bad"), result([{"type": "text", "text": "ok"}])], True),
        (Condition(result_contains="ok"), [result("bad")], False),
        (Condition(result_contains="ok"), [result([{"type": "image"}]), result(None)], False),
        (Condition(result_is_error=True), [result("x"), result("y", is_error=True)], True),
        (Condition(result_is_error=True), [result("x")], False),
        (Condition(result_is_error=False), [result("x")], True),
        (Condition(result_is_error=True, result_contains="no"), [result("yes", is_error=True)], False),
    ],
)
def test_conditions(condition, results, expected):
    assert holds(condition, asked(results)) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition(text_contains="please"), True),
        (Condition(text_contains="never"), False),
        (Condition(system_contains="careful"), True),
        (Condition(system_contains="careless"), False),
        (Condition(offers="Read"), True),
        (Condition(offers="Bash"), False),
        (Condition(model="m-1"), True),
        (Condition(model="m-2"), False),
        (Condition(beta="b-1"), True),
        (Condition(beta="b-2"), False),
        (Condition(messages=1), True),
        (Condition(messages=2), False),
        (Condition(model="m-1", offers="Bash"), False),
    ],
)
def test_conditions_on_the_request(condition, expected):
    body = {**asked([{"type": "text", "text": "please"}]), "system": "be careful", "tools": [{"name": "Read"}]}
    assert holds(condition, body, frozenset({"b-1"})) is expected


def test_yaml_and_json_give_the_same_script():
    yaml = "turns:\n  - say: hi\n    do: [{read: a.py}]\n    when: {result_contains: x}\n    faults: [{status: 429, retry_after: 7}]\n"
    json = '{"turns": [{"say": "hi", "do": [{"read": "a.py"}], "when": {"result_contains": "x"}, "faults": [{"status": 429, "retry_after": 7}]}]}'
    assert parse_script(yaml) == parse_script(json)
    (turn,) = parse_script(yaml).turns
    assert (turn.say, turn.do, turn.faults[0].status, turn.faults[0].retry_after) == ("hi", ({"read": "a.py"},), 429, 7)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("turns:\n  - say: [", r"no YAML document.*play\.yaml:2"),
        ("turns:\n  - say: 'x\n", r"no YAML document.*play\.yaml"),
        ("- 1", "cannot be read"),
        ("", "cannot be read"),
        ("turns: []\nextra: 1", "extra"),
        ("turns: [{says: x}]", "says"),
        ("turns: [{say: 3}]", r"turns\[\.*0\]"),
        ("turns: [{}]", r"Turn 1 of the script says and does nothing.*turns\[0\]"),
        (
            "turns: [{say: x}, {do: [{dance: x}]}]",
            r"Turn 2 .* not one of read, write, edit, run, find, search, find_tools, call, server.*turns\[1\]",
        ),
        ("turns: [{do: [{read: a, run: b}]}]", "not one of"),
        ("turns: [{do: [{}]}]", "not one of"),
        ("turns: [{do: [{call: Bash}]}]", "a 'call' without a 'tool'"),
        ("turns: [{say: x, faults: [{status: 429, torn: 2}]}]", "not exactly one of"),
        ("turns: [{say: x, faults: [{times: 2}]}]", "not exactly one of"),
    ],
)
def test_a_bad_script_is_one_sentence_with_the_place(text, phrase):
    with pytest.raises(ConfigError) as caught:
        parse_script(text, path="play.yaml")
    assert caught.match(f"(?s){phrase}")
    assert "play.yaml" in str(caught.value)
