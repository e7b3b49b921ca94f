"""WebSearch: the service searches, asked outside the conversation, and nothing that was sent moves."""

import itertools
import json
from pathlib import Path

import anyio
import msgspec
import pytest

from compositor.adapters.sessions.reading import read_transcript
from compositor.adapters.tools.web_search import MAX_CALLS, MAX_HITS, WebSearchTool
from compositor.context.tools.web_results import read_answer
from compositor.context.transcript.journal import last_send
from compositor.context.view import view_bytes
from compositor.emulator.profile import catalog
from compositor.loop.effects import EndReason
from compositor.ports import ToolScope
from compositor.runtime.events import CallEnded, RequestStarted
from compositor.types.blocks import parse_content
from compositor.types.json import raw_json
from compositor.types.tools import OutcomeKind, ToolCall
from compositor.types.web import WebFound, WebHit, WebQuery
from tests.runtime.long_run import LongRun

pytestmark = pytest.mark.anyio

PAGE = {"type": "web_search_result", "title": "What is new", "url": "https://docs.python.org/3/whatsnew/", "encrypted_content": "x", "page_age": "2 days ago"}  # fmt: skip
FOUND = f"""
turns:
  - {{do: [{{call: {{tool: WebSearch, input: {{query: "newest python", allowed_domains: [python.org]}}}}}}]}}
  - when: {{offers: web_search}}
    do: [{{server: {{tool: web_search, input: {{query: newest python}}, result: [{json.dumps(PAGE)}]}}}}]
    say: It is out.
  - {{when: {{result_contains: "https://docs.python.org/3/whatsnew/"}}, say: Done.}}
  - {{say: More.}}
"""
ERROR = """
turns:
  - {do: [{call: {tool: WebSearch, input: {query: "x"}}}]}
  - when: {offers: web_search}
    faults: [{status: 400, message: web search is not enabled}]
    say: never
  - {when: {result_is_error: true}, say: Done.}
"""


def run_of(folder: Path, script: str) -> LongRun:
    run = LongRun(folder, script, profile=catalog())
    del run.environ["CLAUDE_CODE_MAX_CONTEXT_TOKENS"]
    return run


def outcomes(run: LongRun):
    return [event.outcome for event in run.events if isinstance(event, CallEnded)]


@pytest.mark.req("R236", "R243", "R424")
async def test_a_search_asks_aside_and_the_conversation_goes_on_where_it_was(tmp_path: Path) -> None:
    run = run_of(tmp_path, FOUND)
    async with run.opened() as agent:
        result = await agent.submit("what is new?")
        assert result.reason is EndReason.COMPLETED, result.detail
        await agent.submit("and?")
    first, aside, *_ = run.bodies()
    assert aside["tools"] == [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 8, "allowed_domains": ["python.org"]}
    ]
    assert "system" not in aside
    assert "cache_control" not in json.dumps(aside)
    assert first["tools"] != aside["tools"]
    (outcome,) = outcomes(run)
    assert outcome.content == "It is out.\n\nPages:\n- What is new: https://docs.python.org/3/whatsnew/ (2 days ago)"
    assert msgspec.json.decode(bytes(outcome.structured))["searches"] == 1
    views = [view_bytes(event.compiled) for event in run.events if isinstance(event, RequestStarted)]
    assert len(views) == 3
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(views))
    journal = read_transcript(run.path).journal
    assert [send.record.purpose for send in journal.asides] == ["web search"]
    assert len(journal.sends) == 3
    last = last_send(journal)
    assert last is not None
    assert last.record.purpose == ""
    assert all(send.usage is not None for send in journal.paid)


async def test_a_refused_search_fails_the_call_and_no_more(tmp_path: Path) -> None:
    run = run_of(tmp_path, ERROR)
    async with run.opened() as agent:
        result = await agent.submit("go")
    assert result.reason is EndReason.COMPLETED, result.detail
    (outcome,) = outcomes(run)
    assert outcome.kind is OutcomeKind.FAILED
    assert "web search is not enabled" in outcome.content


async def test_a_paused_search_goes_on(tmp_path: Path) -> None:
    paused = FOUND.replace(
        "  - when: {offers: web_search}\n",
        "  - {when: {offers: web_search}, do: [{server: {tool: web_search, input: {query: q}}}]}\n  - when: {offers: web_search}\n",
        1,
    ).replace(", input: {query: newest python}, result", ", result")
    run = run_of(tmp_path, paused)
    async with run.opened() as agent:
        result = await agent.submit("go")
    assert result.reason is EndReason.COMPLETED, result.detail
    assert len(run.bodies()) == 4
    assert "https://docs.python.org/3/whatsnew/" in outcomes(run)[0].content


class Fixed:
    def __init__(self, found: WebFound) -> None:
        self.found = found
        self.asked: list[WebQuery] = []

    async def search(self, wanted: WebQuery) -> WebFound:
        self.asked.append(wanted)
        return self.found


def use(tool: WebSearchTool, **fields: object):
    scope = ToolScope(cwd="/", roots=("/",), output_dir="/", env={})
    return tool.run(ToolCall(id="t", name="WebSearch", input=raw_json(fields)), scope)


async def test_both_kinds_of_domains_are_a_mistake_and_reach_nobody() -> None:
    nobody = Fixed(WebFound())
    outcome = await use(WebSearchTool(nobody), query="x", allowed_domains=["a.org"], blocked_domains=["b.org"])
    assert "not both" in outcome.content
    assert nobody.asked == []


async def test_a_long_list_and_odd_titles_are_cut_and_made_harmless() -> None:
    hits = tuple(WebHit(title=f"a\x1b[31m{n}", url=f"https://a.org/{n}") for n in range(MAX_HITS + 7))
    outcome = await use(WebSearchTool(Fixed(WebFound(hits=hits, text="t" * 30_000))), query="x")
    assert "\x1b" not in outcome.content
    assert "[7 more pages are left out.]" in outcome.content
    assert "[10,000 characters are left out here.]" in outcome.content


async def test_a_session_has_a_limit_of_searches() -> None:
    searcher = Fixed(WebFound(text="x"))
    tool = WebSearchTool(searcher)
    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_CALLS):
            tasks.start_soon(lambda: use(tool, query="x"))
    assert (await use(tool, query="x")).kind is OutcomeKind.FAILED
    assert len(searcher.asked) == MAX_CALLS


def test_an_answer_is_read_whatever_it_holds() -> None:
    error = {"type": "web_search_tool_result", "tool_use_id": "s", "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}  # fmt: skip
    twice = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [PAGE, PAGE, 7, {"url": 3}]}
    assert read_answer(parse_content(raw_json([error])).blocks).problem == "the search failed: max_uses_exceeded"
    found = read_answer(parse_content(raw_json([error, twice])).blocks)
    assert (found.problem, [hit.url for hit in found.hits]) == ("", [PAGE["url"]])
    assert read_answer(()) == WebFound()
