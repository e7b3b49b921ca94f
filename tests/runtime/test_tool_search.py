"""How deferred tools come into view: by the service's own search, by an addition, and again behind a compaction."""

import itertools
import json
from pathlib import Path

import msgspec
import pytest

from compositor.adapters.sessions.reading import read_transcript
from compositor.context.view import view_bytes
from compositor.emulator.profile import catalog
from compositor.loop.effects import EndReason
from compositor.types.entries import MarkerEntry
from tests.runtime.server_run import SEARCH, ServerRun, go_on

pytestmark = pytest.mark.anyio


@pytest.fixture
def session(tmp_path: Path) -> ServerRun:
    return ServerRun(tmp_path)


OWN_SEARCH = """
turns:
  - {do: [{find_tools: "echo text"}, {call: {tool: mcp__my_server__echo, input: {text: hello}}}]}
  - {when: {result_contains: "echo: hello"}, say: Done.}
"""


def own_search(session):
    folder = session.project / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"compositor": {"toolSearch": "provider"}}))


@pytest.mark.req("R242", "R243")
async def test_the_service_can_search_where_model_and_platform_do(session):
    own_search(session)
    result = await session.run(OWN_SEARCH)
    assert result.reason is EndReason.COMPLETED, result.detail
    first, second = session.bodies()
    assert {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"} in first["tools"]
    assert "ToolSearch" not in [tool["name"] for tool in first["tools"]]
    assert [block["type"] for block in second["messages"][-2]["content"]] == [
        "server_tool_use",
        "tool_search_tool_result",
        "tool_use",
    ]
    views = [view_bytes(compiled) for compiled in session.compiled()]
    assert views[1].startswith(views[0])
    assert b'"defer_loading":true' in views[1]
    await session.run("turns:\n  - {say: again}\n")
    assert view_bytes(session.compiled()[-1]).startswith(views[1])


@pytest.mark.req("R242")
async def test_where_the_service_has_no_search_ours_stands_in(session):
    own_search(session)
    session.environ |= {"ENABLE_TOOL_SEARCH": "true", "ANTHROPIC_BASE_URL": "http://gateway.invalid"}
    result = await session.run(SEARCH)
    assert result.reason is EndReason.COMPLETED, result.detail
    (compiled, *_) = session.compiled()
    assert "ToolSearch stands in" in str([omission.reason for omission in compiled.omissions])


COMPACTED = """
turns:
  - {do: [{call: {tool: ToolSearch, input: {query: "echo text"}}}]}
  - {say: found it}
  - {when: {text_contains: "<summary>"}, say: "<summary>A tool was looked for.</summary>"}
  - {do: [{call: {tool: mcp__my_server__echo, input: {text: at once}}}]}
  - {when: {result_contains: "echo: at once"}, say: Done.}
"""


@pytest.mark.req("R245")
async def test_a_tool_that_was_found_can_be_called_at_once_behind_a_compaction_and_on_resume(session):
    def compact(agent):
        return agent.compact()

    def call(agent):
        return agent.submit("use it")

    result = await session.run(COMPACTED, then=(compact, call))
    assert result.reason is EndReason.COMPLETED, result.detail
    assert session.outcomes()[-1].content == "echo: at once"
    body = session.bodies()[-2]
    assert len(body["messages"]) < 8
    boundary = next(
        entry
        for entry in read_transcript(session.path).entries
        if isinstance(entry, MarkerEntry) and entry.subtype == "compact_boundary"
    )
    assert msgspec.json.decode(bytes(boundary.detail))["discoveredTools"][0] == "mcp__my_server__echo"
    await session.run(
        "turns:\n  - {do: [{call: {tool: mcp__my_server__echo, input: {text: still}}}]}\n  - {say: Done.}\n"
    )
    assert session.outcomes()[-1].content == "echo: still"


ADDED = """
turns:
  - {say: Here.}
  - {do: [{call: {tool: mcp__my_server__echo, input: {text: one}}}]}
  - {say: Called.}
  - {do: [{call: {tool: mcp__my_server__late, input: {text: three}}}]}
  - {when: {result_contains: "late: three"}, say: Done.}
"""


@pytest.mark.req("R243", "R246")
@pytest.mark.parametrize(("model", "is_added"), [("opus", True), ("sonnet", False)])
async def test_without_a_search_a_late_tool_is_added_behind_what_was_sent_where_the_model_takes_it(
    session, model, is_added
):
    session.environ["ENABLE_TOOL_SEARCH"] = "false"
    session.models = catalog()
    result = await session.run(ADDED, then=(session.offer_late, go_on), model=model)
    first, *_, last = session.bodies()
    views = [view_bytes(compiled) for compiled in session.compiled()]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(views))
    said = [block for message in last["messages"] if message["role"] == "system" for block in message["content"]]
    # Where nothing is searched and nothing can be added, waiting for a server would bring nothing.
    assert ("WaitForMcpServers" in [tool["name"] for tool in first["tools"]]) is is_added
    if not is_added:
        assert "late" not in json.dumps(last["tools"])
        assert result.reason is not EndReason.COMPLETED
        return
    assert result.reason is EndReason.COMPLETED, result.detail
    assert said == [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "mcp__my_server__late"}}]
    assert [tool["name"] for tool in last["tools"] if tool.get("defer_loading")] == ["mcp__my_server__late"]
    assert last["tools"][: len(first["tools"])] == first["tools"]
    assert all("tool-changes" in one.request.headers["anthropic-beta"] for one in session.emulator.requests)
    # A resumed session sends it again in its place.
    await session.run(
        "turns:\n  - {do: [{call: {tool: mcp__my_server__late, input: {text: again}}}]}\n  - {say: Done.}\n",
        model=model,
    )
    assert view_bytes(session.compiled()[-1]).startswith(views[-1])
    assert session.outcomes()[-1].content == "late: again"
