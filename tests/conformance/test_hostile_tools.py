"""F10, F11: names and schemas that a model API refuses, in the list of a server and in what an earlier program stored.

The judge is the stand-in for the service alone. A bad tool costs itself at most; all others work.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from compositor.context.compile import compile_request
from compositor.context.head import compile_head
from compositor.context.tools.catalog import BUILTIN_TOOLS, as_head_tools
from compositor.context.tools.deferral import Access, Deferral, Told, marker_detail, plan_news
from compositor.context.tools.names import map_names
from compositor.context.tools.schema import FittedSchema, UnfitSchema, fit_definitions, fit_schema
from compositor.context.transcript.stored_head import decode_head, encode_head
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.refusal import Refusal
from compositor.emulator.rules import check_request
from compositor.loop.offering import with_recorded_tools
from compositor.loop.resume import Recorded, choose_head, judge_head
from compositor.types.blocks import TextBlock
from compositor.types.entries import MarkerEntry, UserEntry
from compositor.types.json import Raw, decode_json, raw_json
from compositor.types.provenance import Attribution, Lane, Lifetime, Source
from compositor.types.request import Head, HeadParts, HeadTool
from compositor.types.servers import DEFERRED_TOOLS, ServedTool, ServerListing
from compositor.types.snapshot import EventName, Snapshot
from compositor.types.tools import ToolDefinition, ToolOrigin
from compositor.types.verdicts import PermissionMode
from tests.properties.building import FACTS, OPTIONS, WIRE

NAMES = (
    "Dockerfile problems scanner",
    "user-profile/update",
    "admin.tools.list",
    "x" * 90,
    "x" * 90 + "!",
    "a.b",
    "a_b",
    "a/b",
    "",
    "\n",
    "Ünï",
    "名前",
    "😀",
    "Read",
)
OBJECT: dict[str, Any] = {"type": "object"}
GOOD = raw_json({**OBJECT, "properties": {"a": {"type": "string"}}, "required": ["a"]})
BRANCHES = [{"required": ["a"]}, {"required": ["b"]}]
# Schemas that have a legal form.
FITTING: tuple[Mapping[str, Any], ...] = (
    {},
    {"properties": {"a": {"type": "string"}}},
    {"type": ["object", "null"]},
    {**OBJECT, "properties": None},
    {**OBJECT, "properties": []},
    {**OBJECT, "anyOf": BRANCHES},
    {**OBJECT, "oneOf": BRANCHES, "allOf": [{"properties": {"c": True}}]},
    {**OBJECT, "anyOf": None},
    {**OBJECT, "oneOf": 5},
    {**OBJECT, "allOf": [None, "x", {}]},
    {"$ref": "#/$defs/a", "$defs": {"a": OBJECT}},
    {**OBJECT, "$schema": "http://json-schema.org/draft-07/schema#"},
    {**OBJECT, "properties": {"a": {"$ref": "https://schemas.test/a.json"}}},
)
# Schemas that have none: their tools are left out.
UNFIT: tuple[bytes, ...] = (
    b"",
    b"null",
    b"[]",
    b'{"type":"object"',
    *(
        json.dumps(schema).encode()
        for schema in (
            {"type": "string"},
            {"$ref": "#"},
            {"$ref": "#/$defs/none"},
            {**OBJECT, "properties": {"a": 5}},
            {**OBJECT, "properties": {"a": {"type": "nope"}}},
            {**OBJECT, "properties": {"a": {"$ref": "#/$defs/none"}}},
            {**OBJECT, "properties": {"a": {"pattern": "("}}},
            {**OBJECT, "patternProperties": {"(": {}}},
            {**OBJECT, "required": "a"},
            {**OBJECT, "$id": "no address %%"},
        )
    ),
    b'{"type":"object","properties":{"a":' * 300 + b"{}" + b"}}" * 300,
    b'{"type":"object","properties":{"a":' * 3000 + b"{}" + b"}}" * 3000,
    b'{"type":"object","allOf":' + b"[" * 2000 + b"]" * 2000 + b"}",
)


def served(name: str, schema: Raw = GOOD) -> ToolDefinition:
    return ToolDefinition(
        name=f"mcp__s__{name}", description="d", input_schema=schema, origin=ToolOrigin.MCP, deferred=True
    )


def refusal(head: Head) -> Refusal | None:
    """What the service says to the first request with this head."""
    question = UserEntry(uuid="u", parent=None, time="t", content=(TextBlock("hi"),))
    snapshot = Snapshot(head=head, entries=(question,), facts=FACTS, options=OPTIONS)
    compiled = compile_request(snapshot, WIRE)
    return check_request(
        decode_json(compiled.body), dict(compiled.headers), ServiceProfile(max_output=128_000, system_role=True)
    )


def offered(definitions: Iterable[ToolDefinition], *, share: float | None) -> Head:
    """The head with what a server lists, as a session takes it in."""
    tools, _ = fit_definitions(definitions)
    wire = map_names(tool.name for tool in tools).wire
    listing = ServerListing(server="s", tools=tuple(ServedTool(tool, wire[tool.name]) for tool in tools))
    news = plan_news(
        Told(),
        [listing],
        Deferral(share=share, window=200_000),
        access=Access.OPEN,
        denied=(),
        mode=PermissionMode.DEFAULT,
    )
    return compile_head(HeadParts(tools=(*as_head_tools(BUILTIN_TOOLS), *news.plain, *news.deferred)))


@pytest.mark.req("R240")
@pytest.mark.parametrize("share", [None, 1.0], ids=["deferred", "in full"])
def test_a_list_of_hostile_names_is_sent_whole(share: float | None) -> None:
    head = offered(map(served, NAMES), share=share)
    assert len(head.parts.tools) == len(BUILTIN_TOOLS) + len(NAMES)
    assert refusal(head) is None
    real = {tool.origin.source.name for tool in head.parts.tools}
    assert {f"mcp__s__{name}" for name in NAMES} <= real


@pytest.mark.req("R240")
@pytest.mark.parametrize("share", [None, 1.0], ids=["deferred", "in full"])
def test_of_a_list_of_hostile_schemas_only_those_without_a_legal_form_are_left_out(share: float | None) -> None:
    bad = [served(f"bad{number}", Raw(schema)) for number, schema in enumerate(UNFIT)]
    odd = [served(f"odd{number}", raw_json(schema)) for number, schema in enumerate(FITTING)]
    good = [served(f"good{number}") for number in range(26)]
    head = offered([*bad, *good, *odd], share=share)
    assert refusal(head) is None
    sent = {tool.origin.source.name for tool in head.parts.tools if tool.definition.origin is ToolOrigin.MCP}
    assert sent == {tool.name for tool in (*good, *odd)}
    _, diagnostics = fit_definitions(bad)
    assert [note.where for note in diagnostics] == [tool.name for tool in bad]


@pytest.mark.parametrize("schema", FITTING, ids=[json.dumps(schema)[:40] for schema in FITTING])
def test_a_fitted_schema_is_legal_and_stays_as_it_is(schema: Mapping[str, Any]) -> None:
    fitted = fit_schema(raw_json(schema))
    assert isinstance(fitted, FittedSchema)
    again = fit_schema(fitted.schema)
    assert isinstance(again, FittedSchema)
    assert bytes(again.schema) == bytes(fitted.schema)


@pytest.mark.parametrize("schema", UNFIT, ids=[f"{number}" for number in range(len(UNFIT))])
def test_a_schema_without_a_legal_form_says_why(schema: bytes) -> None:
    unfit = fit_schema(Raw(schema))
    assert isinstance(unfit, UnfitSchema)
    assert unfit.reason


def as_stored(name: str, schema: Raw = GOOD, *, deferred: bool) -> HeadTool:
    definition = ToolDefinition(
        name=name, description="d", input_schema=schema, origin=ToolOrigin.MCP, deferred=deferred
    )
    return HeadTool(definition, Attribution(Source("tool", name), Lane.TOOLS, Lifetime.SESSION, "in a test"))


HOSTILE = (
    ("a b", GOOD, "L100"),
    ("x" * 129, GOOD, "L100"),
    ("union", raw_json({**OBJECT, "anyOf": BRANCHES}), "W06"),
    ("text", raw_json({"type": "string"}), "L102"),
    ("broken", raw_json({**OBJECT, "properties": {"a": {"type": "nope"}}}), "L102"),
)
BUILTINS = as_head_tools(BUILTIN_TOOLS)


@pytest.mark.req("R071")
@pytest.mark.parametrize(("name", "schema", "rule"), HOSTILE, ids=[name[:6] for name, _, _ in HOSTILE])
def test_a_stored_head_that_the_service_would_refuse_is_compiled_anew(name: str, schema: Raw, rule: str) -> None:
    stored = HeadParts(tools=(*BUILTINS, as_stored(name, schema, deferred=False)))
    loaded = decode_head(encode_head(stored))
    recorded = judge_head(Recorded(digest=compile_head(loaded).digest, parts=loaded), WIRE)
    choice = choose_head(HeadParts(tools=BUILTINS), recorded, replays=True)
    assert [event.name for event in choice.events] == [EventName.HEAD_REBUILD]
    assert f"({rule})" in choice.events[0].cause
    assert f"tools[{len(BUILTINS)}]" in choice.events[0].cause
    assert refusal(choice.head) is None


@pytest.mark.req("R071")
def test_a_legal_stored_head_is_replayed() -> None:
    stored = HeadParts(tools=(*BUILTINS, as_stored("mcp__s__a", deferred=False)))
    recorded = judge_head(Recorded(digest=compile_head(stored).digest, parts=stored), WIRE)
    choice = choose_head(HeadParts(tools=BUILTINS), recorded, replays=True)
    assert (choice.head, choice.events) == (compile_head(stored), ())


@pytest.mark.req("R243")
def test_recorded_tools_that_the_service_would_refuse_are_left_out_and_told() -> None:
    recorded = [as_stored(name, schema, deferred=True) for name, schema, _ in HOSTILE]
    twin, good = as_stored("Read", deferred=True), as_stored("mcp__s__a", deferred=True)
    detail = marker_detail([*recorded, twin, good])
    marker = MarkerEntry(uuid="m", parent=None, time="t", subtype=DEFERRED_TOOLS, detail=detail)
    head = with_recorded_tools(compile_head(HeadParts(tools=BUILTINS)), [marker], WIRE)
    assert [tool.definition.name for tool in head.parts.tools[len(BUILTINS) :]] == ["mcp__s__a"]
    rules = [omission.reason.rpartition("(")[2] for omission in head.parts.omissions]
    assert rules == [*(f"{rule})" for _, _, rule in HOSTILE), "L101)"]
    assert refusal(head) is None
