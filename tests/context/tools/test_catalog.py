"""The tool pool: public inputs, selection by flag, mode and rule, order, attribution and display."""

import random

import jsonschema_rs
import msgspec
import pytest

from compositor.context.tools.catalog import (
    BUILTIN,
    BUILTIN_TOOLS,
    LIFETIMES,
    as_head_tools,
    display,
    select_tools,
    sort_tools,
)
from compositor.context.wire.canonical import encode_tool
from compositor.types.json import raw_json
from compositor.types.provenance import Lane, Lifetime, Source
from compositor.types.tools import Concurrency, ToolCall, ToolDefinition, ToolOrigin
from compositor.types.verdicts import PermissionMode

DEFAULT = PermissionMode.DEFAULT

# project-conventions 9.2, without what is not offered yet: switching a sandbox off. BashOutput, Monitor, ToolSearch and the plan of
# ExitPlanMode are not declared there.
FIELDS = {
    "AskUserQuestion": ({"questions"}, {"questions"}),
    "Bash": ({"command", "timeout", "description", "run_in_background"}, {"command"}),
    "NotebookEdit": (
        {"notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"},
        {"notebook_path", "new_source"},
    ),
    "ListMcpResourcesTool": ({"server"}, set()),
    "ReadMcpResourceTool": ({"server", "uri"}, {"server", "uri"}),
    "TaskCreate": ({"subject", "description", "activeForm", "metadata"}, {"subject", "description"}),
    "TaskGet": ({"taskId"}, {"taskId"}),
    "TaskList": (set(), set()),
    "LSP": ({"operation", "filePath", "line", "character", "query"}, {"operation", "filePath"}),
    "ReadMcpResourceDirTool": ({"server", "uri"}, {"server", "uri"}),
    "WaitForMcpServers": ({"servers", "timeout_ms"}, set()),
    "WebSearch": ({"query", "allowed_domains", "blocked_domains"}, {"query"}),
    "TaskStop": ({"task_id", "shell_id"}, set()),
    "TaskUpdate": (
        {
            "taskId",
            "subject",
            "description",
            "activeForm",
            "status",
            "addBlocks",
            "addBlockedBy",
            "owner",
            "metadata",
        },
        {"taskId"},
    ),
    "TodoWrite": ({"todos"}, {"todos"}),
    "WebFetch": ({"url", "prompt", "offset"}, {"url", "prompt"}),
    "Edit": ({"file_path", "old_string", "new_string", "replace_all"}, {"file_path", "old_string", "new_string"}),
    "Glob": ({"pattern", "path"}, {"pattern"}),
    "Grep": (
        {
            "pattern",
            "path",
            "glob",
            "output_mode",
            "-A",
            "-B",
            "-C",
            "context",
            "-n",
            "-i",
            "-o",
            "type",
            "head_limit",
            "offset",
            "multiline",
        },
        {"pattern"},
    ),
    "Read": ({"file_path", "offset", "limit", "pages"}, {"file_path"}),
    "Write": ({"file_path", "content"}, {"file_path", "content"}),
}


def made(name: str, origin: ToolOrigin = ToolOrigin.MCP, description: str = "does") -> ToolDefinition:
    return ToolDefinition(
        name=name, description=description, origin=origin, input_schema=raw_json({"type": "object", "properties": {}})
    )


def names(tools: tuple[ToolDefinition, ...]) -> list[str]:
    return [tool.name for tool in tools]


def call(name: str, **fields: object) -> ToolCall:
    return ToolCall(id="toolu_1", name=name, input=raw_json(fields))


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_inputs_have_exactly_the_public_fields(name: str) -> None:
    schema = msgspec.json.decode(bytes(BUILTIN[name].input_schema))
    fields, required = FIELDS[name]
    assert set(schema["properties"]) == fields
    assert set(schema["required"]) == required
    assert schema["additionalProperties"] is False


@pytest.mark.req("R240")
@pytest.mark.parametrize("tool", BUILTIN_TOOLS, ids=lambda tool: tool.name)
def test_each_tool_is_an_api_object_with_a_legal_schema(tool: ToolDefinition) -> None:
    sent = msgspec.json.decode(encode_tool(tool))
    assert list(sent) == ["name", "description", "input_schema"]
    assert sent["description"]
    assert sent["input_schema"]["type"] == "object"
    assert jsonschema_rs.meta.is_valid(sent["input_schema"])
    assert all(field["description"] for field in sent["input_schema"]["properties"].values())


def test_only_tools_that_change_nothing_may_run_side_by_side() -> None:
    read_only = {tool.name for tool in BUILTIN_TOOLS if tool.read_only}
    shared = {tool.name for tool in BUILTIN_TOOLS if tool.concurrency is Concurrency.SHARED}
    assert shared < read_only
    assert not read_only & {
        "Bash",
        "Edit",
        "EnterWorktree",
        "ExitWorktree",
        "Monitor",
        "NotebookEdit",
        "TaskStop",
        "Write",
    }


@pytest.mark.req("R239")
def test_builtins_come_first_and_do_not_move_when_others_come_and_go() -> None:
    bare, _ = select_tools(BUILTIN_TOOLS, None, (), DEFAULT)
    full, _ = select_tools([made("mcp__a__x"), *BUILTIN_TOOLS, made("aaa", ToolOrigin.PLUGIN)], None, (), DEFAULT)
    assert names(bare) == sorted(BUILTIN)
    assert full[: len(bare)] == bare
    assert names(full)[len(bare) :] == ["aaa", "mcp__a__x"]


@pytest.mark.req("R239")
def test_a_hundred_arrangements_give_one_pool() -> None:
    pool = [*BUILTIN_TOOLS, made("mcp__b__y"), made("mcp__a__x"), made("twice", description="one"), made("twice")]
    expected = select_tools(pool, None, (), DEFAULT)
    chance = random.Random(7)
    for _ in range(100):
        chance.shuffle(pool)
        assert select_tools(pool, None, (), DEFAULT) == expected


@pytest.mark.req("R238", "R252")
def test_a_builtin_wins_against_a_tool_of_the_same_name() -> None:
    included, omissions = select_tools([made("Read"), BUILTIN["Read"]], None, (), DEFAULT)
    assert included == (BUILTIN["Read"],)
    assert [omission.source for omission in omissions] == [Source("tool", "Read")]
    assert "another tool has this name" in omissions[0].reason


@pytest.mark.req("R236", "R252")
@pytest.mark.parametrize(
    ("flag", "kept"),
    [
        (None, sorted(BUILTIN)),
        (["default"], sorted(BUILTIN)),
        ([], []),
        (["Read", "Bash"], ["Bash", "Read"]),
    ],
)
def test_the_tools_flag_chooses_among_builtins_only(flag: list[str] | None, kept: list[str]) -> None:
    included, omissions = select_tools([*BUILTIN_TOOLS, made("mcp__a__x")], flag, (), DEFAULT)
    assert names(included) == [*kept, "mcp__a__x"]
    assert len(omissions) == len(BUILTIN_TOOLS) - len(kept)
    assert {omission.reason for omission in omissions} <= {"not named by --tools"}


@pytest.mark.req("R236", "R237")
@pytest.mark.parametrize("mode", list(PermissionMode))
@pytest.mark.parametrize(
    ("denied", "gone"),
    [
        ((), set()),
        (("Bash",), {"Bash"}),
        (("mcp__a",), {"mcp__a__x", "mcp__a__y"}),
        (("mcp__a__x",), {"mcp__a__x"}),
        (("mcp__*",), {"mcp__a__x", "mcp__a__y", "mcp__ab__x"}),
        (("*",), {"Bash", "Read", "mcp__a__x", "mcp__a__y", "mcp__ab__x"}),
    ],
)
def test_mode_and_deny_rules_filter_every_origin(mode: PermissionMode, denied: tuple[str, ...], gone: set[str]) -> None:
    pool = [BUILTIN["Bash"], BUILTIN["Read"], made("mcp__a__x"), made("mcp__a__y"), made("mcp__ab__x")]
    included, omissions = select_tools(pool, None, denied, mode)
    assert set(names(included)) == {tool.name for tool in pool} - gone
    assert {omission.source.name for omission in omissions if omission.source} == gone
    assert all("deny rule" in omission.reason for omission in omissions)


@pytest.mark.req("R236")
def test_a_tool_that_asks_is_not_offered_where_nobody_may_be_asked() -> None:
    asking = made("AskUserQuestion", ToolOrigin.BUILTIN)
    assert select_tools([asking], None, (), DEFAULT)[0] == (asking,)
    included, omissions = select_tools([asking], None, (), PermissionMode.DONT_ASK)
    assert included == ()
    assert "dontAsk" in omissions[0].reason


@pytest.mark.req("R237")
def test_deny_rules_see_the_real_name() -> None:
    odd = made("mcp__u__user-profile/update")
    assert select_tools([odd], None, ("mcp__u__user-profile/update",), DEFAULT)[0] == ()


def test_lifetimes_never_decrease_along_the_pool() -> None:
    pool = sort_tools([made(origin.value, origin) for origin in ToolOrigin])
    lifetimes = [LIFETIMES[tool.origin] for tool in pool]
    assert lifetimes == sorted(lifetimes)
    assert lifetimes[0] is Lifetime.RELEASE


@pytest.mark.req("R005", "R252")
def test_head_tools_say_where_they_come_from_and_why() -> None:
    builtin, foreign = as_head_tools([made("mcp__u__a b"), BUILTIN["Read"]], gate="kept by settings")
    assert builtin.definition is BUILTIN["Read"]
    assert builtin.origin.source == Source("tool", "Read")
    assert builtin.origin.lane is Lane.TOOLS
    assert builtin.origin.lifetime is Lifetime.RELEASE
    assert builtin.origin.gate == "builtin: kept by settings"
    assert foreign.definition.name == "mcp__u__a_b"
    assert foreign.origin.source.name == "mcp__u__a b"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (call("Bash", command="ls -la\nrm x"), r"Bash(ls -la\nrm x)"),
        (call("Read", file_path="/a/b.py"), "Read(/a/b.py)"),
        (call("Grep", pattern="\x1b[31mred\x07"), r"Grep(\x1b[31mred\x07)"),
        (call("Read", file_path="a\u202egnp.exe"), r"Read(a\u202egnp.exe)"),
        (call("Write", file_path="👩\u200d💻.txt", content="x"), "Write(👩\u200d💻.txt)"),
        (call("mcp__a__x", count=1, query="find"), "mcp__a__x(find)"),
        (call("mcp__a\n__x"), r"mcp__a\n__x()"),
    ],
)
def test_display_is_one_line_that_no_terminal_acts_on(shown: ToolCall, expected: str) -> None:
    assert display(shown) == expected


def test_display_of_a_long_call_ends_in_an_ellipsis() -> None:
    line = display(call("Bash", command="x" * 10_000))
    assert len(line) == 160
    assert line.endswith("…")


def test_display_of_a_broken_input_shows_it() -> None:
    assert display(ToolCall(id="t", name="Bash", input=msgspec.Raw(b"{nope"))) == "Bash({nope)"
