"""The 467 recorded tools of 18 real servers: legal on the wire, one order for all arrangements, and what deferral saves."""

import hashlib
import json
import random
from pathlib import Path

import pytest

from compositor.context.tools.catalog import BUILTIN_TOOLS, as_head_tools
from compositor.context.tools.deferral import Access, Deferral, Told, catalog_tokens, plan_news
from compositor.context.tools.limits import tokens_of
from compositor.context.tools.names import map_names
from compositor.context.wire.canonical import encode_tool
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request
from compositor.types.servers import ServedTool, ServerListing
from compositor.types.verdicts import PermissionMode
from tests.corpus.mcp_lists import raw_tools, recorded_tools

pytestmark = pytest.mark.corpus

WINDOW = 200_000
DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "mcp.md"
HEADERS = {"anthropic-version": "2026-10-21"}


def listings(tools):
    """The tools as their servers would offer them now."""
    wire = map_names(tool.name for tool in tools).wire
    servers = {}
    for tool in tools:
        servers.setdefault(tool.name.split("__")[1], []).append(ServedTool(tool, wire[tool.name]))
    return [ServerListing(server=name, tools=tuple(served)) for name, served in servers.items()]


def news(offered, **deferral):
    return plan_news(
        Told(),
        offered,
        Deferral(window=WINDOW, **deferral),
        access=Access.OPEN,
        denied=(),
        mode=PermissionMode.DEFAULT,
    )


def request(tools):
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "tools": [json.loads(encode_tool(tool.definition)) for tool in tools],
        "messages": [{"role": "user", "content": "hi"}],
    }


def refusal(tools):
    return check_request(request(tools), HEADERS, ServiceProfile(max_output=128_000, system_role=True))


@pytest.mark.req("R240")
def test_every_recorded_tool_becomes_legal():
    """F10, F11: none is left out, and all together make a request that the service would take."""
    tools, diagnostics = recorded_tools()
    assert len(tools) == len(raw_tools()) == 467
    assert {note.code for note in diagnostics} <= {"tools.schema_changed"}
    found = news(listings(tools))
    assert len(found.deferred) == 467
    assert refusal((*as_head_tools(BUILTIN_TOOLS), *found.deferred)) is None


@pytest.mark.req("R238", "R239")
def test_a_hundred_arrangements_give_one_hash():
    """F13: neither the order of servers nor that of their tools can be seen in a request."""
    tools = list(recorded_tools()[0])
    chance = random.Random(11)
    hashes = set()
    for _ in range(100):
        chance.shuffle(tools)
        offered = listings(tools)
        chance.shuffle(offered)
        found = news(offered)
        data = b"".join(encode_tool(tool.definition) for tool in found.deferred)
        hashes.add(hashlib.sha256(data + "".join(note.text for note in found.notes).encode()).hexdigest())
    assert len(hashes) == 1


@pytest.mark.req("R241", "R250")
def test_deferral_costs_a_small_part_of_the_definitions():
    tools, _ = recorded_tools()
    offered = listings(tools)
    for one in [offered, *([listing] for listing in offered if len(listing.tools) > 2)]:
        full = catalog_tokens(tool for listing in one for tool in listing.tools)
        told = sum(tokens_of(note.text) for note in news(one).notes)
        assert told < full / 3, (one[0].server, full, told)


def row(name, offered):
    full = catalog_tokens(tool for listing in offered for tool in listing.tools)
    told = sum(tokens_of(note.text) for note in news(offered).notes)
    count = sum(len(listing.tools) for listing in offered)
    return f"| {name} | {count} | {full:,} | {told:,} | {1 - told / full:.0%} |"


@pytest.mark.req("R250")
def test_the_table_of_the_docs_says_what_is_measured():
    offered = sorted(listings(recorded_tools()[0]), key=lambda listing: listing.server)
    rows = [*(row(listing.server, [listing]) for listing in offered), row("all of them", offered)]
    page = DOCS.read_text("utf-8").splitlines()
    assert [line for line in page if line in rows] == rows


@pytest.mark.req("R241")
def test_thresholds_go_by_the_share_of_the_window():
    tools, _ = recorded_tools()
    small = [listing for listing in listings(tools) if listing.server == "time"]
    assert not news(small, share=0.10).deferred
    assert len(news(small, share=0.10).plain) == 2
    assert not news(listings(tools), share=0.10).plain
    # Above two percent of the window the catalogue names tools without saying what they are for.
    text = news(listings(tools)).notes[0].text
    assert "mcp__time__convert_time\n" in text + "\n"
    assert "mcp__time__convert_time: Convert time between timezones" in news(small).notes[0].text
