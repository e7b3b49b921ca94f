"""The wire rules of the stand-in, one by one. Conditions and key phrases come from wire page 3."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request

HEADERS = {"anthropic-version": "2026-10-21"}
PROFILE = ServiceProfile(max_output=8000)
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}
BODY = {
    "model": "m-1",
    "max_tokens": 1000,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "tools": [{"name": "Read", "description": "d", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "c2ln"}, CALL]},
        {
            "role": "user",
            "content": [{**RESULT, "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "t"}],
        },
    ],
    "stream": True,
    "thinking": {"type": "adaptive"},
}


def refusal(change, headers=HEADERS, profile=PROFILE):
    body = copy.deepcopy(BODY)
    change(body)
    return check_request(body, headers, profile)


def put(path, value):
    """A change that sets what `path` (keys and indexes) points at; a list gets `value` appended at the index "+"."""

    def change(body):
        place = body
        for step in path[:-1]:
            place = place[step]
        if path[-1] == "+":
            place.append(value)
        else:
            place[path[-1]] = value

    return change


def drop(*path):
    def change(body):
        place = body
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def messages(*value):
    return put(("messages",), list(value))


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def text(value, **more):
    return {"type": "text", "text": value, **more}


MARK = {"type": "ephemeral"}
HI = user(text("hi"))
OK = assistant(text("ok"))
PLAIN = {"type": "text", "media_type": "text/plain", "data": "d"}
IMAGE = {"type": "image", "source": {"type": "file", "file_id": "f"}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
SYSTEM = {"role": "system", "content": "note"}

CASES = [
    (drop("model"), None, "model: Field required"),
    (drop("max_tokens"), None, "max_tokens: Field required"),
    (drop("messages"), None, "messages: Field required"),
    (put(("max_tokens",), 8001), "L18", "max_tokens: 8001 > 8000, which is the maximum"),
    (put(("max_tokens",), 0), "L21", "max_tokens: 0"),
    (put(("colour",), 1), "L09", "colour: Extra inputs are not permitted"),
    (put(("context_management",), {"edits": []}), "L150", "context_management: Extra inputs are not permitted"),
    (put(("temperature",), 1.0), "L10", "temperature: Extra inputs are not permitted"),
    (messages(), "L02", "at least one message"),
    (messages({"role": "tool", "content": "x"}), "L03", 'Unexpected role "tool"'),
    (messages(OK, HI), "L05", 'first message must use the "user" role'),
    (messages(HI, assistant(), HI), "L06", "messages.1: all messages must have non-empty content"),
    (messages({"role": "user", "content": ""}), "L06", "messages.0: all messages must have non-empty content"),
    (messages(user(text(""))), "L07", "text content blocks must be non-empty"),
    (messages(user(text(" \n\t"))), "L08", "must contain non-whitespace text"),
    (messages({**HI, "name": "x"}), "L09", "messages.0.name: Extra inputs are not permitted"),
    (messages(user(text("x", colour=1))), "L09", "messages.0.content.0.text.colour: Extra inputs"),
    (messages(HI, assistant({"type": "document", "source": PLAIN}), HI), "L11", "document blocks are not permitted"),
    (messages(user(text("x", citations=[{"a": 1}]))), "L12", "citations are not permitted"),
    (messages(HI, OK), "L13", "does not support assistant message prefill"),
    (messages(HI, SYSTEM), "L30", "role 'system' is not supported on this model"),
    (
        messages(HI, assistant(CALL), HI),
        "L55",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    ),
    (
        messages(HI, assistant(CALL), user(text("first"), RESULT)),
        "L59",
        "without `tool_result` blocks immediately after",
    ),
    (messages(user(RESULT)), "L56", "unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"),
    (
        messages(HI, assistant(CALL), user(RESULT), OK, user(RESULT)),
        "L56",
        "messages.4.content.0: unexpected `tool_use_id`",
    ),
    (
        messages(HI, assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)),
        "L57",
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    (messages(HI, assistant(CALL, CALL), user(RESULT)), "L57", "messages.1.content.1: `tool_use` ids must be unique"),
    (messages(HI, assistant(CALL), user(RESULT, RESULT)), "L58", "each tool_use must have a single result"),
    (
        messages(HI, assistant({**CALL, "id": "a.b"}), user({**RESULT, "tool_use_id": "a.b"})),
        "L61",
        "tool_use.id: String should match pattern",
    ),
    (
        messages(HI, assistant({**CALL, "input": "{}"}), user(RESULT)),
        "L62",
        "tool_use.input: Input should be a valid dictionary",
    ),
    (
        messages(HI, assistant(CALL), user({**RESULT, "is_error": True, "content": [IMAGE]})),
        "L63",
        "all content must be type 'text' if 'is_error' is true",
    ),
    (messages(HI, assistant(CALL), user({**RESULT, "content": [CALL]})), "L64", "tool_result.content"),
    (messages(user(CALL)), "L65", "tool_use blocks can only be in assistant messages"),
    (messages(HI, assistant(RESULT), HI), "L65", "tool_result blocks can only be in user messages"),
    (drop("tools"), "L66", "must define tools"),
    (drop("messages", 1, "content", 0, "signature"), "L76", "thinking.signature: Field required"),
    (drop("messages", 1, "content", 0, "thinking"), "L77", "thinking.thinking: Field required"),
    (put(("messages", 1, "content", 0, "signature"), ""), "L76", "Invalid `signature` in `thinking` block"),
    (
        put(("messages", 1, "content", 0, "cache_control"), MARK),
        "L89",
        "thinking.cache_control: Extra inputs are not permitted",
    ),
    (put(("thinking",), {"type": "enabled", "budget_tokens": 100}), "L90", "greater than or equal to 1024"),
    (put(("thinking",), {"type": "enabled", "budget_tokens": 1024}), "L90", "max_tokens must be greater than"),
    (put(("thinking",), {"type": "disabled", "display": "omitted"}), "L95", "display"),
    (put(("tools", 0, "name"), "Re ad"), "L100", "tools.0.custom.name: String should match pattern"),
    (put(("tools", 0, "name"), "a" * 129), "L100", "tools.0.custom.name: String should match pattern"),
    (put(("tools", "+"), BODY["tools"][0]), "L101", "tools: Tool names must be unique."),
    (put(("tools", 0, "input_schema"), {"type": "array"}), "L102", "tools.0.custom.input_schema"),
    (drop("tools", 0, "input_schema"), "L102", "tools.0.custom.input_schema: Field required"),
    (put(("tools", 0, "defer_loading"), True), "L105", "at least one tool must have defer_loading=false"),
    (
        put(
            ("tools", "+"),
            {"name": "D", "input_schema": {"type": "object"}, "defer_loading": True, "cache_control": MARK},
        ),
        "L106",
        "cannot have both defer_loading=true and cache_control set",
    ),
    (
        put(("messages", 2, "content", 0, "content"), [{"type": "tool_reference", "tool_name": "Gone"}]),
        "L107",
        "Tool reference 'Gone' not found in available tools",
    ),
    (
        put(("messages", 0, "content"), [text(str(number), cache_control=MARK) for number in range(3)]),
        "L120",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        put(("messages", 2, "content", 1, "cache_control"), {"type": "ephemeral", "ttl": "1h"}),
        "L121",
        "must not come after",
    ),
    (messages(user(text("", cache_control=MARK))), "L122", "cache_control cannot be set for empty text blocks"),
    (put(("system", 0, "cache_control"), {"type": "permanent"}), "L130", "cache_control.type"),
    (put(("system", 0, "cache_control"), {"type": "ephemeral", "ttl": "2h"}), "L130", "cache_control.ttl"),
    (
        put(("system", 0, "cache_control"), {"type": "ephemeral", "scope": "global"}),
        "L131",
        "ephemeral.scope: Extra inputs are not permitted",
    ),
    (put(("model",), ""), None, "model: Input should be a valid string"),
    (put(("max_tokens",), "many"), None, "max_tokens: Input should be"),
    (put(("tool_choice",), "auto"), None, "tool_choice: Input should be a valid dictionary"),
    (put(("stream",), 1), None, "stream: Input should be a valid boolean"),
    (put(("tools",), {}), None, "tools: Input should be a valid list"),
    (put(("tools", 0, "colour"), 1), "L09", "tools.0.custom.colour: Extra inputs are not permitted"),
    (put(("system",), 3), None, "system: Input should be a valid list"),
    (put(("system",), [{"type": "image"}]), None, "system.0: Input tag 'image'"),
    (put(("system", 0, "colour"), 1), "L09", "system.0.text.colour: Extra inputs are not permitted"),
    (put(("cache_control",), {"type": "ephemeral", "ttl": "2h"}), "L130", "cache_control.ttl"),
    (put(("thinking",), {"type": "hard"}), None, "thinking: Input tag 'hard'"),
    (put(("messages",), {}), None, "messages: Input should be a valid list"),
    (messages(*[HI] * 100_001), "L01", "at most 100000 items"),
    (
        messages({"role": "user", "content": 3}),
        None,
        "messages.0.content: Input should be a valid string or list of blocks",
    ),
    (messages(user({"type": "hologram"})), None, "messages.0.content.0: Input tag 'hologram'"),
    (messages(user(text(3))), None, "messages.0.content.0.text.text: Input should be a valid string"),
    (messages(HI, assistant(CALL), user({**RESULT, "tool_use_id": ""})), "L61", "tool_result.tool_use_id"),
    (messages(HI, assistant(CALL), user({**RESULT, "content": 3})), "L64", "tool_result.content"),
    (messages(HI, assistant(CALL), user({**RESULT, "content": [text("")]})), "L07", "must be non-empty"),
    (put(("system",), [text("", cache_control=MARK)]), "L122", "cache_control cannot be set for empty text blocks"),
]


def test_the_legal_body_is_taken():
    assert refusal(lambda body: None) is None


@pytest.mark.parametrize(
    ("change", "rule", "phrase"), CASES, ids=[f"{rule}-{index}" for index, (_, rule, _) in enumerate(CASES)]
)
def test_each_broken_rule_is_refused_with_its_phrase(change, rule, phrase):
    found = refusal(change)
    assert (found.status, found.type, found.rule) == (400, "invalid_request_error", rule)
    assert phrase in found.message


def test_forced_tools_exclude_a_thinking_budget():
    def change(body):
        body.update(max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 1024}, tool_choice={"type": "any"})

    assert refusal(change).rule == "L93"


def test_automatic_caching_counts_as_the_fifth_marker():
    def change(body):
        body["cache_control"] = MARK
        body["messages"][0]["content"] = [text("a", cache_control=MARK), text("b", cache_control=MARK)]

    assert refusal(change).rule == "L128"


LEGAL = [
    messages(HI, HI, OK, OK, HI),
    messages(HI, assistant(CALL), user(RESULT), user(text("more"))),
    messages(HI, assistant(CALL), user({"type": "tool_result", "tool_use_id": "toolu_1"})),
    messages(HI, assistant(text(" "), CALL), user(RESULT)),
    put(("system",), "plain"),
    put(("tool_choice",), {"type": "auto"}),
    put(("cache_control",), MARK),
    put(("messages", 2, "content", 0, "content"), [{"type": "tool_reference", "tool_name": "Read"}]),
    put(("tools", "+"), {"type": "bash_20250124", "name": "bash"}),
]


@pytest.mark.parametrize("change", LEGAL)
def test_what_is_legal_is_taken(change):
    assert refusal(change) is None


SYSTEM_PROFILE = ServiceProfile(system_role=True, prefill=True)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (messages(HI, SYSTEM), None),
        (messages(HI, SYSTEM, SYSTEM, OK, HI), None),
        (messages(HI, assistant(CALL), user(RESULT), SYSTEM, OK, HI), None),
        (messages(HI, OK), "L14"),
        (messages(SYSTEM, HI), "L31"),
        (messages(HI, assistant(SEARCH, FOUND), SYSTEM), None),
        (messages(HI, OK, SYSTEM), "L32"),
        (messages(HI, SYSTEM, HI), "L33"),
        (messages(HI, SYSTEM, SYSTEM, HI), "L33"),
    ],
)
def test_where_a_system_message_may_stand(change, rule):
    found = refusal(change, profile=SYSTEM_PROFILE)
    assert (found.rule if found else None) == rule


def test_headers_are_checked():
    def legal(body):
        return None

    assert "anthropic-version" in refusal(legal, headers={}).message
    betas = {**HEADERS, "anthropic-beta": "known-1, other-2"}
    assert refusal(legal, headers=betas) is None
    strict = ServiceProfile(betas=frozenset({"known-1"}))
    found = refusal(legal, headers=betas, profile=strict)
    assert "Unexpected value(s) `other-2` for the `anthropic-beta` header" in found.message
    locked = ServiceProfile(keys=frozenset({"k-1"}))
    assert refusal(legal, profile=locked).status == 401
    assert refusal(legal, headers={**HEADERS, "x-api-key": "k-1"}, profile=locked) is None
    assert refusal(legal, headers={**HEADERS, "authorization": "Bearer k-1"}, profile=locked) is None


def test_a_beta_and_an_old_version_open_their_keys():
    beta = {**HEADERS, "anthropic-beta": "context-management-2025-06-27"}
    assert refusal(put(("context_management",), {"edits": []}), headers=beta) is None
    assert refusal(put(("temperature",), 0.5), headers={"anthropic-version": "2023-06-01"}) is None


PLACES = st.sampled_from(
    [
        ("model",), ("max_tokens",), ("messages",), ("system",), ("tools",), ("stream",), ("thinking",), ("tool_choice",),
        ("cache_control",), ("messages", 1), ("messages", 1, "content"), ("messages", 1, "content", 1),
        ("messages", 1, "content", 1, "id"), ("messages", 2, "content", 0, "content"), ("messages", 0, "role"),
        ("messages", 2, "content", 0, "cache_control"), ("tools", 0), ("tools", 0, "name"), ("system", 0),
        ("messages", 1, "content", 0, "signature"), ("messages", 2, "content", 0, "tool_use_id"), ("tools", 0, "type"),
        ("messages", 2, "content", 1, "text"), ("messages", 1, "content", 1, "type"), ("system", 0, "cache_control"),
    ]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "content", "text", "tool_use_id", "role"]) | st.text(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(place=PLACES, value=JSON)
def test_any_json_anywhere_is_judged_and_never_breaks_the_stand_in(place, value):
    found = refusal(put(place, value))
    assert found is None or found.status == 400
    json.dumps(found.envelope("req") if found else None)


@given(value=JSON)
def test_any_json_as_the_whole_body_is_judged(value):
    assert check_request(value, HEADERS, PROFILE).status == 400
