"""A session with MCP servers: deferral, search, loss and return of a server, and a prefix that none of it moves."""

import itertools
import json
from pathlib import Path

import msgspec
import pytest

from compositor.adapters.sessions.reading import read_transcript
from compositor.context.view import view_bytes
from compositor.loop.effects import EndReason
from compositor.runtime.events import HeadRenewed
from compositor.types.entries import AttachmentEntry, MarkerEntry
from compositor.types.tools import OutcomeKind
from tests.runtime.server_run import SEARCH, ServerRun, go_on

pytestmark = pytest.mark.anyio


@pytest.fixture
def session(tmp_path: Path) -> ServerRun:
    return ServerRun(tmp_path)


@pytest.mark.req("R241", "R242", "R243", "R244")
async def test_a_search_makes_a_deferred_tool_usable_and_moves_nothing(session):
    result = await session.run(SEARCH)
    assert result.reason is EndReason.COMPLETED, result.detail
    first, second, third = session.bodies()
    served = [tool for tool in first["tools"] if tool["name"].startswith("mcp__")]
    assert [tool["name"] for tool in served] == [
        f"mcp__my_server__{name}" for name in ("crash", "echo", "fail", "long")
    ]
    assert all(tool["defer_loading"] is True for tool in served)
    assert first["tools"] == second["tools"] == third["tools"]
    # One line each, and what the server says about itself; nothing of the schemas.
    told = "".join(block["text"] for block in first["messages"][-1]["content"] if block["type"] == "text")
    assert "mcp__my_server__echo: Does echo" in told
    assert "Call echo first." in told
    assert second["messages"][-1]["content"][0]["content"][0] == {
        "type": "tool_reference",
        "tool_name": "mcp__my_server__echo",
    }
    views = [view_bytes(compiled) for compiled in session.compiled()]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(views))


@pytest.mark.req("R247", "R424")
async def test_a_resumed_session_sends_the_same_tools_although_the_server_changed(session):
    await session.run(SEARCH)
    before = session.bodies()[-1]["tools"]
    session.offer("other")
    await session.run("turns:\n  - {say: again}\n")
    (after,) = session.bodies()
    assert after["tools"][: len(before)] == before
    assert [tool["name"] for tool in after["tools"][len(before) :]] == ["mcp__my_server__other"]
    told = json.dumps(after["messages"][-1])
    assert "not available at the moment" in told
    assert "mcp__my_server__echo" in told
    transcript = read_transcript(session.path)
    assert [entry.subtype for entry in transcript.entries if isinstance(entry, MarkerEntry)] == ["deferred_tools"] * 2


LOSE = """
turns:
  - {do: [{call: {tool: mcp__my_server__crash, input: {}}}]}
  - {when: {result_is_error: true}, do: [{call: {tool: mcp__my_server__echo, input: {text: back}}}]}
  - {when: {result_contains: "echo: back"}, say: Done.}
"""


@pytest.mark.req("R239", "R243")
async def test_a_server_that_crashes_costs_one_call_and_comes_back(session):
    result = await session.run(LOSE)
    assert result.reason is EndReason.COMPLETED, result.detail
    crashed, echoed = session.outcomes()
    assert crashed.kind is OutcomeKind.FAILED
    assert "'my server' is not available" in crashed.content
    assert echoed.kind is OutcomeKind.DONE
    first, second, third = session.bodies()
    assert first["tools"] == second["tools"] == third["tools"]


CHANGE = """
turns:
  - {say: Here.}
  - {do: [{call: {tool: mcp__my_server__echo, input: {text: one}}}]}
  - {say: Called.}
  - {say: Done.}
"""


@pytest.mark.req("R243", "R244")
async def test_a_tool_that_comes_late_is_told_at_the_tail(session):
    await session.run(CHANGE, then=(session.offer_late, go_on))
    first, *_, last = session.bodies()
    assert last["tools"][: len(first["tools"])] == first["tools"]
    assert last["tools"][-1]["name"] == "mcp__my_server__late"
    assert json.dumps(last["messages"]).count("mcp__my_server__late: Does late") == 1
    views = [view_bytes(compiled) for compiled in session.compiled()]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(views))


@pytest.mark.req("R237")
async def test_a_denied_server_is_not_told_at_all(session):
    await session.run("turns:\n  - {say: all right}\n", disallowed_tools=("mcp__my server",))
    (body,) = session.bodies()
    assert not [tool for tool in body["tools"] if tool["name"].startswith("mcp__")]
    (compiled,) = session.compiled()
    assert "removed by the deny rule" in str([omission.reason for omission in compiled.omissions])


@pytest.mark.req("R241")
async def test_without_a_search_the_tools_stand_in_full_from_the_first_request(session):
    session.environ["ENABLE_TOOL_SEARCH"] = "false"
    await session.run("turns:\n  - {say: all right}\n")
    (body,) = session.bodies()
    names = [tool["name"] for tool in body["tools"]]
    assert "ToolSearch" not in names
    assert names[-4:] == [f"mcp__my_server__{name}" for name in ("crash", "echo", "fail", "long")]
    assert not any("defer_loading" in tool for tool in body["tools"])
    transcript = read_transcript(session.path)
    assert not [entry for entry in transcript.entries if isinstance(entry, MarkerEntry)]
    notes = [entry.attachment.kind for entry in transcript.entries if isinstance(entry, AttachmentEntry)]
    assert notes == ["mcp_instructions_delta"]


def content_of(path):
    assert Path(path).stat().st_mode & 0o077 == 0
    return Path(path).read_text()


LONG = """
turns:
  - {do: [{call: {tool: mcp__my_server__long, input: {text: "40000"}}}]}
  - {when: {result_contains: "are left out here"}, say: Done.}
"""


async def test_a_result_above_the_limit_is_a_file_and_a_preview(session):
    """F40."""
    result = await session.run(LONG)
    assert result.reason is EndReason.COMPLETED, result.detail
    (outcome,) = session.outcomes()
    assert len(outcome.content) < 5_000
    path = msgspec.json.decode(bytes(outcome.structured))["persistedOutputPath"]
    assert content_of(path) == "[" + "word " * 40_000 + "]"
    assert "The result is JSON of 200,002 bytes" in outcome.content
    assert path in outcome.content


async def test_what_was_moved_to_a_file_can_be_read_where_nobody_can_be_asked(session):
    """F40: the model is told how to read on, so reading on must not need a permission."""
    session.person = False
    state = session.environ["COMPOSITOR_HOME"]
    await session.run('turns:\n  - {do: [{run: "seq 30000"}]}\n  - {say: Done.}\n', allowed_tools=("Bash(seq *)",))
    (ran,) = session.outcomes()
    outputs = str(Path(state, "outputs", session.session_id))
    file = next(word for word in ran.content.split() if word.startswith(outputs)).rstrip(":")
    read = f'{{call: {{tool: Read, input: {{file_path: "{file}", limit: 2}}}}}}'
    await session.run(f"turns:\n  - {{do: [{read}]}}\n  - {{say: Done.}}\n")
    assert "1\t1" in session.outcomes()[-1].content


def as_section(session):
    folder = session.project / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"compositor": {"mcpInstructions": "section"}}))


@pytest.mark.req("R049", "R058")
async def test_without_deltas_the_system_prompt_says_what_servers_say_and_moves_only_when_that_changes(session):
    as_section(session)
    await session.run("turns:\n" + "  - {do: [{run: 'true'}]}\n" * 3 + "  - {say: Done.}\n")
    bodies = session.bodies()
    assert all("Call echo first." in json.dumps(body["system"]) for body in bodies)
    assert not any("Call echo first." in json.dumps(body["messages"]) for body in bodies)
    assert len({json.dumps([block["text"] for block in body["system"]]) for body in bodies}) == 1
    renewed = [event.event for event in session.events if isinstance(event, HeadRenewed)]
    assert len(renewed) == 1
    assert "mcp_instructions" in renewed[0].cause


@pytest.mark.req("R058", "R260")
async def test_with_deltas_the_words_of_a_server_are_told_once_and_move_nothing(session):
    await session.run("turns:\n" + "  - {do: [{run: 'true'}]}\n" * 6 + "  - {say: Done.}\n")
    bodies = session.bodies()
    assert json.dumps(bodies[-1]["messages"]).count("Call echo first.") == 1
    assert len({json.dumps([block["text"] for block in body["system"]]) for body in bodies}) == 1
    assert not [event for event in session.events if isinstance(event, HeadRenewed)]
