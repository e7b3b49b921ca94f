"""A foreign body, whatever it is made of: it is judged, and nothing is raised."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.messages.legality import RULES, WireContext, check_body
from compositor.types.messages import WireMessage
from tests.context.messages.legality.histories import WILD_HISTORIES, body, head, tool

_WORDS = st.sampled_from(
    ["type", "text", "role", "content", "user", "assistant", "system", "tool_use", "tool_result", "tool_use_id", "id", "image",
     "source", "base64", "data", "messages", "tools", "model", "max_tokens", "thinking", "cache_control", "ttl", "1h", "name",
     "input_schema", "context_management", "edits", "keep", "compaction", "signature", "is_error", "document", "input"]
)  # fmt: skip
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2**65), st.floats(allow_nan=False), _WORDS, st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(_WORDS, st.text(max_size=2)), inner, max_size=5)),
    max_leaves=25,
)  # fmt: skip
_CONTEXTS = st.builds(
    WireContext,
    api_version=st.sampled_from(["2023-06-01", "2026-10-21", "bedrock-2023-05-31", ""]),
    betas=st.sampled_from([(), ("compact-2026-09-04",), ("context-management-2025-06-27", "compact-2026-01-12")]),
    counting=st.booleans(),
    versioned_body=st.booleans(),
    system_role=st.sampled_from([None, False]),
    prefill=st.sampled_from([None, False, True]),
    efforts=st.sampled_from([None, ("low",)]),
    off_effort_cap=st.sampled_from([None, "low"]),
    max_output=st.sampled_from([None, 10]),
)


@given(st.binary(max_size=60), _CONTEXTS)
def test_no_bytes_raise(data: bytes, context: WireContext) -> None:
    assert all(violation.rule in RULES for violation in check_body(data, context))


@given(st.dictionaries(_WORDS, _JSON, max_size=8), _CONTEXTS)
def test_no_json_raises(fields: dict[str, Any], context: WireContext) -> None:
    assert all(violation.rule in RULES for violation in check_body(json.dumps(fields).encode(), context))


@given(WILD_HISTORIES, st.data(), _CONTEXTS)
def test_no_mutation_of_a_body_raises(messages: list[WireMessage], data: st.DataObject, context: WireContext) -> None:
    fields = json.loads(
        body(head(tool("Read")), messages, {"model": "m", "max_tokens": 1, "thinking": {"type": "adaptive"}})
    )
    places: list[tuple[Any, Any]] = []
    _collect(fields, places)
    for _ in range(data.draw(st.integers(1, 4))):
        container, key = data.draw(st.sampled_from(places))
        container[key] = data.draw(_JSON)
    assert all(violation.rule in RULES for violation in check_body(json.dumps(fields).encode(), context))


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        places.append((value, key))
        _collect(value[key], places)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"messages":[{"role":"user","content":' + b"[" * 5000 + b"]" * 5000 + b"}]}",
        b'{"messages":[{"role":"user","content":"\\ud83d"}],"x":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"tools":[{"name":"a","input_schema":' + b'{"type":"object","properties":{"a":' * 400 + b"{}" + b"}}" * 400 + b"}]}",
    ],
)  # fmt: skip
def test_deep_nesting_is_no_way_to_stop_the_check(data: bytes) -> None:
    assert check_body(data, WireContext())


def test_what_is_nested_too_deep_says_so() -> None:
    assert [(found.rule, found.message) for found in check_body(b"[" * 200_000, WireContext())] == [
        ("W02", "the JSON is nested too deep to be read")
    ]


def test_broken_json_has_line_and_column() -> None:
    (found,) = check_body(b'{"model": "m",\n "messages": [}', WireContext())
    assert (found.rule, found.message) == ("W02", "no JSON at line 2, column 15: Expecting value")


def test_content_given_as_a_string_has_no_block_to_point_at() -> None:
    data = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":" "}]}'
    assert [(found.rule, found.path) for found in check_body(data, WireContext())] == [("L08", "messages[0].content")]


def test_a_body_with_a_lone_surrogate_is_still_judged_whole() -> None:
    data = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"\\ud83d"},{"type":"text","text":""}]}]}'
    assert {(found.rule, found.path) for found in check_body(data, WireContext())} == {
        ("W01", "messages[0].content[0].text"),
        ("L07", "messages[0].content[1].text"),
    }


def test_a_call_keeps_its_caller_and_is_a_call_all_the_same() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}, "caller": {"type": "direct"}}
    fields = {
        "model": "m",
        "max_tokens": 1,
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
        ],
    }
    assert check_body(json.dumps(fields).encode(), WireContext()) == ()


def test_a_message_that_cannot_be_read_hides_no_other_region() -> None:
    data = b'{"model":"m","max_tokens":1,"system":"","messages":[{"role":"robot","content":"a"}]}'
    assert {(found.rule, found.path) for found in check_body(data, WireContext())} == {
        ("L03", "messages[0].role"),
        ("W09", "system"),
    }


@pytest.mark.parametrize("servers", [5, [5, "docs", None, {}], [{"name": []}]])
def test_servers_of_any_shape_are_judged_without_an_error(servers: object) -> None:
    tools = [{"type": "mcp_toolset"}, {"type": "mcp_toolset", "mcp_server_name": {}}, 5]
    data = json.dumps({"tools": tools, "mcp_servers": servers, "messages": []}).encode()
    rules = {violation.rule for violation in check_body(data, WireContext(betas=("mcp-client-2025-11-20",)))}
    assert {"L111", "W03"} <= rules
