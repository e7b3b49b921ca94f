"""What of the servers is told, when: first sight, changes, loss and return, rules, no search, and the record of it all."""

import math

import pytest

from compositor.context.tools.deferral import (
    Access,
    Deferral,
    News,
    Told,
    marker_detail,
    plan_news,
    recorded_tools,
    told_by,
)
from compositor.types.entries import MarkerEntry
from compositor.types.json import EMPTY_OBJECT, raw_json
from compositor.types.servers import DEFERRED_TOOLS, ServedTool, ServerListing
from compositor.types.tools import ToolDefinition, ToolOrigin
from compositor.types.verdicts import PermissionMode


def served(server, name, description="Does it.", **more):
    definition = ToolDefinition(
        name=f"mcp__{server}__{name}",
        description=description,
        input_schema=raw_json({"type": "object", "properties": {}}),
        origin=ToolOrigin.MCP,
        deferred=True,
    )
    return ServedTool(definition, f"mcp__{server}__{name}".replace(" ", "_"), **more)


def listing(server, *names, **more):
    return ServerListing(server=server, tools=tuple(served(server, name) for name in names), **more)


def news(listings, told=None, *, access=Access.SENT, share=None, denied=(), adds=False) -> News:
    return plan_news(
        told or Told(),
        listings,
        Deferral(share=share, adds=adds),
        access=access,
        denied=denied,
        mode=PermissionMode.DEFAULT,
    )


def wires(tools):
    return [tool.definition.name for tool in tools]


@pytest.mark.req("R241", "R243")
def test_tools_are_deferred_and_announced_by_one_line_each():
    found = news([listing("b", "y"), listing("a c", "x")], access=Access.OPEN)
    assert wires(found.deferred) == ["mcp__a_c__x", "mcp__b__y"]
    assert all(tool.definition.deferred for tool in found.deferred)
    assert [tool.origin.source.name for tool in found.deferred] == ["mcp__a c__x", "mcp__b__y"]
    (note,) = found.notes
    assert note.kind == "deferred_tools_delta"
    assert note.text.splitlines()[1:] == ["mcp__a_c__x: Does it", "mcp__b__y: Does it"]


@pytest.mark.req("R244")
def test_nothing_new_is_not_told():
    first = news([listing("a", "x", instructions="Use it.")])
    assert [note.kind for note in first.notes] == ["deferred_tools_delta", "mcp_instructions_delta"]
    again = news([listing("a", "x", instructions="Use it otherwise.")], first.told)
    assert again.is_empty
    assert again.told == first.told


@pytest.mark.req("R244", "R246")
def test_a_server_that_goes_and_comes_back_is_told_twice_and_its_tools_stay():
    """F14."""
    up = news([listing("a", "x"), listing("b", "y")])
    down = news([listing("a", "x"), listing("b", "y", problem="it crashed")], up.told)
    assert not down.deferred
    assert [note.text for note in down.notes] == [
        "These tools are not available at the moment, a call to one fails: mcp__b__y"
    ]
    assert news([listing("a", "x"), listing("b", "y", problem="it crashed")], down.told).is_empty
    back = news([listing("a", "x"), listing("b", "y", "new")], down.told)
    assert wires(back.deferred) == ["mcp__b__new"]
    assert back.notes[0].text.splitlines()[-1] == "These tools are available again: mcp__b__y"


def test_of_a_server_that_is_still_starting_nothing_is_said():
    up = news([listing("a", "x")])
    assert news([ServerListing(server="a", problem="it is still starting", starting=True)], up.told).is_empty


@pytest.mark.req("R237", "R252")
def test_denied_tools_are_left_out_once_and_with_a_reason():
    found = news([listing("a", "x", "y")], denied=["mcp__a__x"])
    assert wires(found.deferred) == ["mcp__a__y"]
    assert [omission.reason for omission in found.omissions] == ["removed by the deny rule 'mcp__a__x'"]
    assert not news([listing("a", "x", "y")], found.told, denied=["mcp__a__x"]).omissions


@pytest.mark.req("R241")
def test_without_a_search_tools_join_the_head_once_and_late_ones_wait_for_the_next_session():
    found = news([listing("a", "x")], access=Access.OPEN, share=math.inf)
    assert wires(found.plain) == ["mcp__a__x"]
    assert not found.plain[0].definition.deferred
    assert not found.deferred
    assert not found.notes
    late = news([listing("a", "x", "z")], found.told, share=math.inf)
    assert late.is_empty
    assert "came after the first request" in late.omissions[0].reason


def test_a_tool_that_asks_for_it_is_loaded_in_full_before_the_first_request_only():
    always = ServerListing(server="a", tools=(served("a", "x", always_load=True), served("a", "y")))
    first = news([always], access=Access.OPEN)
    assert (wires(first.plain), wires(first.deferred)) == (["mcp__a__x"], ["mcp__a__y"])
    later = news([always], access=Access.SENT)
    assert wires(later.deferred) == ["mcp__a__x", "mcp__a__y"]


@pytest.mark.req("R247")
def test_the_record_gives_back_the_very_definitions():
    found = news([listing("a", "x", "y")])
    markers = [
        MarkerEntry(uuid="1", parent=None, time="", subtype=DEFERRED_TOOLS, detail=marker_detail(found.deferred)),
        MarkerEntry(uuid="2", parent="1", time="", subtype=DEFERRED_TOOLS, detail=raw_json("damaged")),
        MarkerEntry(uuid="3", parent="2", time="", subtype="other", detail=EMPTY_OBJECT),
    ]
    recorded = recorded_tools(markers)
    assert [bytes(tool.definition.input_schema) for tool in recorded] == [
        bytes(tool.definition.input_schema) for tool in found.deferred
    ]
    assert wires(recorded) == ["mcp__a__x", "mcp__a__y"]
    assert told_by(recorded).names == found.told.names


@pytest.mark.req("R247", "R248")
def test_a_schema_that_changes_midway_is_not_told_until_a_reset():
    first = news([listing("a", "x")])
    changed = ServerListing(server="a", tools=(served("a", "x", description="Does it otherwise."),))
    assert news([changed], first.told).is_empty
    reset = news([changed])
    assert reset.deferred[0].definition.description == "Does it otherwise."


@pytest.mark.req("R243", "R244")
@pytest.mark.parametrize(
    ("share", "adds", "access", "added", "searched", "omitted"),
    [
        (None, True, Access.SENT, ["mcp__a__now"], ["mcp__a__later"], 0),
        (None, False, Access.SENT, [], ["mcp__a__later", "mcp__a__now"], 0),
        (None, True, Access.OPEN, [], ["mcp__a__later"], 0),
        (math.inf, True, Access.SENT, ["mcp__a__later", "mcp__a__now"], [], 0),
        (math.inf, False, Access.SENT, [], [], 2),
    ],
)
def test_a_late_tool_is_added_at_once_where_that_can_be_and_is_wanted(share, adds, access, added, searched, omitted):
    tools = (served("a", "later"), served("a", "now", always_load=True))
    found = news([ServerListing(server="a", tools=tools)], access=access, share=share, adds=adds)
    notes = {note.kind: note.text for note in found.notes}
    assert notes.get("tool_addition", "").split() == added
    assert sorted(wires(found.deferred)) == sorted(added + searched)
    lines = notes.get("deferred_tools_delta", "").splitlines()[1:]
    assert [line.partition(":")[0] for line in lines] == searched
    assert len(found.omissions) == omitted
