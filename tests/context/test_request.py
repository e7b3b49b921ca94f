"""Head, markers, scalars, view: the bytes of a whole request, part by part."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from compositor.context.cache.breakpoints import MAXIMUM
from compositor.context.explain import first_difference
from compositor.context.finish import BODY_FIELDS, finish
from compositor.context.head import compile_head
from compositor.context.prefix import empty_prefix, extend
from compositor.context.tokens import calibrate, count_request, estimate_tokens
from compositor.context.view import view_bytes
from compositor.errors import IllegalRequestError, UsageError
from compositor.types.blocks import TextBlock, ThinkingBlock, ToolReferenceBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.provenance import Lane, Lifetime
from compositor.types.request import Compiled, Head, HeadParts, HeadTool, RequestOptions, Ttl
from compositor.types.snapshot import Facts
from tests.properties.building import BARE, BINDING, FACTS, HEAD, OPTIONS, PARTS, WIRE, fragment, tool
from tests.properties.strategies import MODEL, TIME


def user(number: int, *blocks: object) -> UserEntry:
    content = tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks)
    return UserEntry(uuid=f"u{number}", parent=None, time=TIME, content=content)  # type: ignore[arg-type]


def assistant(number: int, *blocks: object, digest: str | None = None) -> AssistantEntry:
    content = tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks)
    return AssistantEntry(
        uuid=f"a{number}",
        parent=None,
        time=TIME,
        message_id=f"m{number}",
        model=MODEL,
        content=content,  # type: ignore[arg-type]
        stop_reason="end_turn",
        prefix_digest=digest,
    )


def compiled(
    *entries: TranscriptEntry, head: Head = HEAD, facts: Facts = FACTS, options: RequestOptions = OPTIONS
) -> Compiled:
    return finish(extend(empty_prefix(head, facts, WIRE), entries), options)


@pytest.mark.req("R092")
def test_the_body_is_tools_system_messages_then_scalars_in_compact_json() -> None:
    body = compiled(user(1, "hi"), head=BARE).body
    schema = '{"type":"object","properties":{}}'
    assert body.decode() == (
        '{"tools":['
        f'{{"name":"Bash","description":"does Bash","input_schema":{schema}}},'
        f'{{"name":"Read","description":"does Read","input_schema":{schema},"cache_control":{{"type":"ephemeral"}}}}'
        '],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],'
        f'"model":"{MODEL}","max_tokens":8000,"stream":true,"thinking":{{"type":"adaptive"}}}}'
    )


@pytest.mark.req("R101", "R102")
def test_the_user_context_is_the_first_message_and_absent_when_empty() -> None:
    with_context = msgspec.json.decode(compiled(user(1, "hi")).body)
    assert with_context["messages"][0]["content"][0]["text"].startswith("<system-reminder>")
    assert len(with_context["messages"]) == 2
    without = msgspec.json.decode(compiled(user(1, "hi"), head=BARE).body)
    assert len(without["messages"]) == 1


@pytest.mark.req("R019", "R020", "R021")
@pytest.mark.parametrize(
    ("field", "value", "sent"),
    [
        ("thinking", raw_json({"type": "disabled"}), {"type": "disabled"}),
        ("tool_choice", raw_json({"type": "auto"}), {"type": "auto"}),
        ("metadata", raw_json({"user_id": "u"}), {"user_id": "u"}),
        ("output_config", raw_json({"effort": "low"}), {"effort": "low"}),
        ("stop_sequences", ("END",), ["END"]),
        ("max_tokens", 64_000, 64_000),
        ("stream", False, False),
    ],
)
def test_an_option_sets_exactly_its_own_field(field: str, value: object, sent: object) -> None:
    plain = RequestOptions(model=MODEL, max_tokens=8000)
    one = msgspec.json.decode(compiled(user(1, "hi"), options=plain).body)
    two = msgspec.json.decode(compiled(user(1, "hi"), options=msgspec.structs.replace(plain, **{field: value})).body)
    assert two[field] == sent
    assert {key for key in two if two[key] != one.get(key)} == {field}


@pytest.mark.req("R020")
def test_every_body_field_is_an_option_and_no_option_is_forgotten() -> None:
    steering = {"betas", "api_version", "caching", "ttl", "skip_write", "pin", "scopes"}
    assert set(BODY_FIELDS) | steering == set(RequestOptions.__struct_fields__)


@pytest.mark.req("R253", "R254", "R255", "R085", "R086")
def test_markers_stand_at_the_boundary_the_end_of_system_the_previous_end_and_the_end() -> None:
    found = compiled(user(1, "one"), assistant(1, "two"), user(2, "three", "four"))
    assert [marker.path for marker in found.markers] == [
        "system[0]",
        "system[1]",
        "messages[1].content[0]",
        "messages[3].content[1]",
    ]
    body = msgspec.json.decode(found.body)
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["messages"][1]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in body["messages"][3]["content"][0]
    assert body["messages"][3]["content"][1]["cache_control"] == {"type": "ephemeral"}
    assert found.body.count(b"cache_control") == len(found.markers) == MAXIMUM


def test_the_first_request_marks_the_user_context_for_the_sessions_to_come() -> None:
    found = compiled(user(1, "one"))
    assert [marker.path for marker in found.markers] == [
        "system[0]",
        "system[1]",
        "messages[0].content[0]",
        "messages[1].content[0]",
    ]


@pytest.mark.req("R256")
def test_a_throw_away_tail_is_not_written() -> None:
    side = msgspec.structs.replace(OPTIONS, skip_write=True)
    found = compiled(user(1, "one"), assistant(1, "two"), user(2, "a side question"), options=side)
    assert [marker.path for marker in found.markers] == ["system[0]", "system[1]", "messages[1].content[0]"]


@pytest.mark.req("R257")
def test_branches_share_the_prefix_and_the_marker_at_the_pin() -> None:
    trunk = (user(1, "one"), assistant(1, "two"), user(2, "three"), assistant(2, "four"))
    pinned = msgspec.structs.replace(OPTIONS, pin=3)
    left = compiled(*trunk, user(3, "left"), options=pinned)
    right = compiled(*trunk, user(3, "right"), assistant(3, "yes"), user(4, "more"), options=pinned)
    assert [marker.path for marker in left.markers][1] == "messages[3].content[0]"
    assert "messages[3].content[0]" in [marker.path for marker in right.markers]
    chunks = [[chunk.data for chunk in found.message_chunks()][:4] for found in (left, right)]
    assert chunks[0] == chunks[1]
    with pytest.raises(UsageError, match="there is no such message"):
        compiled(user(1, "one"), options=pinned)


@pytest.mark.req("R258")
def test_a_block_that_may_not_carry_a_marker_is_passed_over() -> None:
    thinking = ThinkingBlock("hm", "c2ln")
    entries = (user(1, "one"), assistant(1, thinking, "two"), user(2, "three"))
    assert compiled(*entries).markers[-1].path == "messages[3].content[0]"
    paused = compiled(user(1, "one"), assistant(1, "two", thinking), user(2, ToolResultBlock("t9", "x")), user(3, "on"))
    assert paused.markers[-1].path == "messages[3].content[0]"


@pytest.mark.req("R263")
def test_the_lifetime_of_markers_is_the_options() -> None:
    long = compiled(user(1, "hi"), options=msgspec.structs.replace(OPTIONS, ttl=Ttl.LONG))
    assert long.body.count(b'"cache_control":{"type":"ephemeral","ttl":"1h"}') == len(long.markers)
    off = compiled(user(1, "hi"), options=msgspec.structs.replace(OPTIONS, caching=False))
    assert off.markers == ()
    assert b"cache_control" not in off.body


def test_size_and_pieces_agree_with_the_body() -> None:
    found = compiled(user(1, "one"), assistant(1, "two"), user(2, "three"))
    assert found.size == len(found.body) == sum(map(len, found.pieces()))


@pytest.mark.req("R259")
def test_the_view_has_no_markers_and_no_scalars() -> None:
    one = compiled(user(1, "one"))
    two = compiled(user(1, "one"), options=msgspec.structs.replace(OPTIONS, max_tokens=64_000, ttl=Ttl.LONG))
    assert one.view_digest == two.view_digest == hashlib.sha256(view_bytes(one)).hexdigest()
    assert b"cache_control" not in view_bytes(two)
    later = compiled(user(1, "one"), assistant(1, "two"), user(2, "three"))
    assert view_bytes(later).startswith(view_bytes(one))


@pytest.mark.req("R424")
def test_the_same_parts_give_the_same_head_and_digest() -> None:
    again = compile_head(msgspec.structs.replace(PARTS))
    assert again.digest == HEAD.digest
    other = compile_head(HeadParts(tools=PARTS.tools[:1], system=PARTS.system, context=PARTS.context))
    assert other.digest != HEAD.digest


@pytest.mark.req("R259")
def test_a_deferred_tool_counts_from_its_first_reference() -> None:
    late = msgspec.structs.replace(tool("Late").definition, deferred=True)
    parts = msgspec.structs.replace(PARTS, tools=(*PARTS.tools, HeadTool(late, tool("Late").origin)))
    head = compile_head(parts)
    assert head.digest == HEAD.digest
    call = ToolUseBlock("t1", "ToolSearch", raw_json({}))
    reference = ToolResultBlock("t1", (ToolReferenceBlock("Late"),))
    found = compiled(user(1, "go"), assistant(1, call), user(2, reference), head=head)
    assert view_bytes(found).count(b'"name":"Late"') == 1
    assert hashlib.sha256(view_bytes(found)).hexdigest() == found.view_digest
    without = compiled(user(1, "go"), head=head)
    assert b'"name":"Late"' not in view_bytes(without)
    assert b'"defer_loading":true' in without.body


@pytest.mark.req("R423")
def test_thinking_comes_back_only_under_the_prefix_that_it_was_made_under() -> None:
    question = user(1, "one")
    asked = compiled(question, facts=BINDING)
    bound = assistant(1, ThinkingBlock("hm", "c2ln"), "two", digest=asked.view_digest)
    kept = compiled(question, bound, user(2, "three"), facts=BINDING)
    assert b'"thinking":"hm"' in kept.body
    rebuilt_head = compile_head(HeadParts(tools=PARTS.tools[:1], system=PARTS.system, context=PARTS.context))
    changed = compiled(question, bound, user(2, "three"), head=rebuilt_head, facts=BINDING)
    assert b'"thinking":"hm"' not in changed.body
    assert any("R423" in omission.reason for omission in changed.omissions)


def test_nothing_to_send_is_refused_with_the_rule() -> None:
    with pytest.raises(IllegalRequestError) as problem:
        compiled(head=BARE)
    assert problem.value.rule == "L02"


def test_a_request_that_ends_with_an_answer_is_refused_on_models_without_prefill() -> None:
    with pytest.raises(IllegalRequestError) as problem:
        compiled(user(1, "hi"), assistant(1, "hello"))
    assert problem.value.rule == "L13"


@pytest.mark.req("R093", "R270")
@pytest.mark.parametrize(
    ("parts", "cause"),
    [
        (HeadParts(tools=PARTS.tools[:1], system=PARTS.system, context=PARTS.context), "tool Read is gone in tools[1]"),
        (
            HeadParts(
                tools=PARTS.tools,
                system=(
                    (PARTS.system[0][0], fragment("tone", "Be brief.", Lane.SYSTEM, Lifetime.RELEASE)),
                    PARTS.system[1],
                ),
                context=PARTS.context,
            ),
            "section tone changed in system[0]",
        ),
        (
            HeadParts(tools=PARTS.tools, system=PARTS.system, context=PARTS.context[:1]),
            "section claude_md is gone in messages[0]",
        ),
    ],
    ids=["tool", "section", "memory"],
)
def test_the_first_difference_names_its_cause(parts: HeadParts, cause: str) -> None:
    difference = first_difference(compiled(user(1, "hi")), compiled(user(1, "hi"), head=compile_head(parts)))
    assert difference is not None
    assert difference.cause == cause


def test_a_continuation_has_no_difference() -> None:
    one = compiled(user(1, "hi"))
    assert first_difference(one, compiled(user(1, "hi"), assistant(1, "yes"), user(2, "on"))) is None


@pytest.mark.req("R022")
def test_tokens_are_the_sum_of_the_three_regions_and_options_cost_nothing() -> None:
    one = count_request(compiled(user(1, "hi")))
    assert one.total == one.tools + one.system + one.messages
    louder = count_request(
        compiled(user(1, "hi"), options=msgspec.structs.replace(OPTIONS, stop_sequences=("x" * 99,)))
    )
    assert louder == one


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("word " * 100, 80, 140),
        ("漢字" * 50, 60, 140),
        ("0123456789" * 10, 40, 80),
        ("    " * 100, 5, 60),
    ],
)
def test_the_estimate_is_in_a_sane_band(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text.encode()) <= most


def test_calibration_moves_towards_what_was_reported_and_is_bounded() -> None:
    assert calibrate(1.0, 100, 100) == pytest.approx(1.0)
    assert 1.0 < calibrate(1.0, 100, 150) < 1.5
    assert calibrate(1.0, 100, 1_000_000) <= 1.31
    assert calibrate(1.2, 0, 10) == 1.2
