"""Finding tools: exact names, required words, ranking by name before description, and summaries."""

import random

import pytest

from compositor.context.tools.search import ToolIndex, summary, words
from compositor.types.json import raw_json
from compositor.types.tools import ToolDefinition


def made(name, description="", **inputs):
    properties = {key: {"type": "string", "description": text} for key, text in inputs.items()}
    return ToolDefinition(
        name=name, description=description, input_schema=raw_json({"type": "object", "properties": properties})
    )


TOOLS = (
    made("mcp__slack__post_message", "Sends a message to a channel.", channel="where to", text="what to say"),
    made("mcp__slack__list_channels", "Shows every channel of the workspace."),
    made("mcp__mail__send", "Sends a letter to somebody.", recipient="who gets it"),
    made("mcp__tracker__createIssue", "Opens a ticket."),
    made("mcp__tracker__deleteIssue", "Removes a ticket for good."),
)


@pytest.mark.req("R242")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("post a message to slack", "mcp__slack__post_message"),
        ("slack channels", "mcp__slack__list_channels"),
        ("create an issue", "mcp__tracker__createIssue"),
        ("erase a ticket", "mcp__tracker__deleteIssue"),
        ("write a letter", "mcp__mail__send"),
        ("recipients", "mcp__mail__send"),
    ],
)
def test_words_find_the_tool_that_does_it(query, first):
    assert ToolIndex(TOOLS).find(query)[0] == first


@pytest.mark.req("R242")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("select:mcp__mail__send", ("mcp__mail__send",)),
        ("select:send, list_channels", ("mcp__mail__send", "mcp__slack__list_channels")),
        ("SELECT:MCP__MAIL__SEND", ("mcp__mail__send",)),
        ("select:nothing", ()),
        ("mcp__tracker__createIssue", ("mcp__tracker__createIssue",)),
        ("+slack send", ("mcp__slack__post_message",)),
        ("zebra", ()),
        ("", ()),
    ],
)
def test_names_are_taken_exactly_and_a_plus_is_required(query, found):
    assert ToolIndex(TOOLS).find(query)[: len(found) or None] == found


def test_the_order_of_the_tools_does_not_matter_and_a_limit_holds():
    shuffled = list(TOOLS)
    random.Random(3).shuffle(shuffled)
    assert ToolIndex(shuffled).find("send ticket channel") == ToolIndex(TOOLS).find("send ticket channel")
    assert len(ToolIndex(TOOLS).find("send ticket channel", 2)) == 2


def test_names_are_cut_at_capitals_and_underscores():
    assert words("getHTTPResponse_2") == ("get", "http", "respons", "2")
    assert words("Searches the issues") == words("search issue")


@pytest.mark.parametrize(
    ("description", "line"),
    [
        ("Does one thing. And more.", "Does one thing"),
        ("First line\nsecond", "First line"),
        ("a " * 60, "a a a a a a a a a…"),
        ("", ""),
    ],
)
def test_a_summary_is_the_first_sentence_in_one_line(description, line):
    assert summary(made("x", description), 20) == line
