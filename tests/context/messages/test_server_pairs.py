"""Calls that the service answers itself: which of them stay without a result, and which go (L68 to L72)."""

from __future__ import annotations

import pytest

from compositor.context.messages.drafts import Draft, Notes, RoundContext
from compositor.context.messages.server_pairs import repair_server_pairs
from compositor.context.messages.steps import as_draft
from compositor.types.blocks import ContentBlock, ServerToolUseBlock, TextBlock, UnknownBlock, parse_block
from compositor.types.entries import AssistantEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.persistent import Ledger
from tests.properties.building import FACTS
from tests.properties.strategies import MODEL, TIME

TEXT = TextBlock("b")
SEARCH = ServerToolUseBlock("srvtoolu_1", "web_search", raw_json({}))
SHELL = ServerToolUseBlock("srvtoolu_1", "bash_code_execution", raw_json({}))


def unknown(**fields: object) -> ContentBlock:
    block = parse_block(raw_json(fields)).blocks[0]
    assert isinstance(block, UnknownBlock)
    return block


FOUND = unknown(type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[])
MCP_CALL = unknown(type="mcp_tool_use", id="mcptoolu_1", name="find", server_name="docs", input={})
MCP_RESULT = unknown(type="mcp_tool_result", tool_use_id="mcptoolu_1", content=[])
NAMELESS = unknown(type="mcp_tool_use", id=5, name="find", server_name="docs", input={})
PROMPT = as_draft(UserEntry(uuid="u", parent=None, time=TIME, content=(TextBlock("a"),)))


def answer(*blocks: ContentBlock, stop: str = "end_turn") -> Draft:
    return as_draft(
        AssistantEntry(uuid="a", parent=None, time=TIME, message_id="m", model=MODEL, content=blocks, stop_reason=stop)
    )


def repaired(*drafts: Draft, tools: frozenset[str] | None) -> tuple[list[list[ContentBlock]], list[str]]:
    """The blocks that are left, draft by draft, and what was told."""
    context = RoundContext(facts=FACTS, opens=True, tools=tools, used_ids=Ledger(), view_digest=lambda: "")
    notes = Notes()
    left = repair_server_pairs(context, drafts, notes)
    return [[part.block for part in draft.parts] for draft in left], [one.what for one in notes.omissions]


@pytest.mark.req("R176")
@pytest.mark.parametrize(
    ("call", "tools"),
    [
        (SEARCH, frozenset({"web_search", "Read"})),
        (SHELL, frozenset({"code_execution"})),
        (SHELL, frozenset({"web_fetch"})),
        (SEARCH, frozenset()),
        (SEARCH, None),
        (MCP_CALL, frozenset({"Read"})),
    ],
    ids=["declared", "the code tool", "a web tool that runs code", "no tools", "nobody knows", "of a server"],
)
def test_a_paused_answer_goes_back_as_it_is(call: ContentBlock, tools: frozenset[str] | None) -> None:
    """L72: the service goes on where it stopped."""
    assert repaired(answer(TEXT, call, stop="pause_turn"), tools=tools) == ([[TEXT, call]], [])


@pytest.mark.req("R176")
@pytest.mark.parametrize("call", [SEARCH, SHELL])
def test_a_paused_answer_whose_tool_is_gone_loses_the_call(call: ServerToolUseBlock) -> None:
    """L69: without the tool the service refuses to go on."""
    left, told = repaired(answer(TEXT, call, stop="pause_turn"), tools=frozenset({"Read"}))
    assert left == [[TEXT]]
    assert told == ["the call 'srvtoolu_1' of a server tool"]


@pytest.mark.req("R176")
def test_nothing_waits_behind_a_prompt_or_in_an_answer_that_ended() -> None:
    tools = frozenset({"web_search"})
    assert repaired(answer(TEXT, SEARCH, stop="pause_turn"), PROMPT, tools=tools)[0] == [[TEXT], [TextBlock("a")]]
    assert repaired(answer(TEXT, SEARCH), tools=tools)[0] == [[TEXT]]
    assert repaired(PROMPT, answer(TEXT, SEARCH), tools=tools)[0] == [[TextBlock("a")], [TEXT]]


@pytest.mark.req("R176")
@pytest.mark.parametrize(("call", "result"), [(SEARCH, FOUND), (MCP_CALL, MCP_RESULT)])
def test_an_answered_call_stays_with_its_result(call: ContentBlock, result: ContentBlock) -> None:
    assert repaired(answer(call, result, TEXT), PROMPT, tools=None)[0][0] == [call, result, TEXT]


@pytest.mark.req("R176")
def test_of_two_calls_only_the_open_one_goes() -> None:
    left, told = repaired(answer(MCP_CALL, SEARCH, FOUND, TEXT), PROMPT, tools=None)
    assert left[0] == [SEARCH, FOUND, TEXT]
    assert told == ["the call 'mcptoolu_1' of a server tool"]


def test_a_call_without_a_readable_id_is_left_to_the_rules() -> None:
    assert repaired(answer(NAMELESS, TEXT), PROMPT, tools=None) == ([[NAMELESS, TEXT], [TextBlock("a")]], [])
