"""The relation phase as a fold: the tail costs the tail, pieces find what the whole finds, and so does a foreign reader."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from compositor.context.messages.legality import (
    LegalityState,
    Violation,
    WireContext,
    check_body,
    check_end,
    check_head,
    check_messages,
)
from compositor.types.blocks import ServerToolUseBlock, ThinkingBlock, ToolReferenceBlock, ToolResultBlock
from compositor.types.messages import WireMessage
from compositor.types.request import Head, RequestOptions
from tests.context.messages.legality.histories import (
    WILD_HISTORIES,
    assistant,
    body,
    call,
    head,
    legal_history,
    result,
    system,
    tool,
    user,
)

OPTIONS = RequestOptions(model="m", max_tokens=100, stream=True)
SCALARS = {"model": "m", "max_tokens": 100, "stream": True}
HEAD = head(tool("Read"), tool("Late", deferred=True), system_texts=("You help.",))
NAMES = frozenset({"Read", "Late"})
CONTEXTS = (
    WireContext(),
    WireContext(api_version="2023-06-01", prefill=True),
    WireContext(system_role=False, prefill=False),
    WireContext(betas=("compact-2026-09-04", "mid-conversation-tool-changes-2026-07-01", "mcp-client-2026-09-15")),
)


def _whole(messages: list[WireMessage], context: WireContext) -> set[tuple[str, str]]:
    return _pairs(check_body(body(HEAD, messages, SCALARS), context))


def _folded(messages: list[WireMessage], cuts: list[int], context: WireContext, where: Head = HEAD) -> list[Violation]:
    state = LegalityState()
    found: list[Violation] = []
    edges = [0, *sorted(min(cut, len(messages)) for cut in cuts), len(messages)]
    for start, end in pairwise(edges):
        state, violations = check_messages(state, messages[start:end], context)
        found.extend(violations)
    return [*found, *check_end(state, context, tools=NAMES), *check_head(where, OPTIONS, (), context)]


def _pairs(violations: tuple[Violation, ...] | list[Violation]) -> set[tuple[str, str]]:
    return {(violation.rule, violation.path) for violation in violations}


@given(WILD_HISTORIES, st.sampled_from(CONTEXTS))
def test_fold_and_whole_agree_on_our_own_bodies(messages: list[WireMessage], context: WireContext) -> None:
    assert _pairs(_folded(messages, [], context)) == _whole(messages, context)


@given(WILD_HISTORIES, st.lists(st.integers(0, 7), max_size=4), st.sampled_from(CONTEXTS))
def test_pieces_find_what_the_whole_finds(messages: list[WireMessage], cuts: list[int], context: WireContext) -> None:
    assert _folded(messages, cuts, context) == _folded(messages, [], context)


@given(WILD_HISTORIES, WILD_HISTORIES, WILD_HISTORIES)
def test_a_state_is_not_changed_by_what_is_folded_behind_it(
    first: list[WireMessage], left: list[WireMessage], right: list[WireMessage]
) -> None:
    context = WireContext()
    state, _ = check_messages(LegalityState(), first, context)
    end = check_end(state, context, tools=NAMES)
    alone = check_messages(state, right, context)[1]
    again, _ = check_messages(LegalityState(), first, context)
    check_messages(again, left, context)
    assert check_messages(again, right, context)[1] == alone
    assert check_end(again, context, tools=NAMES) == end


@pytest.mark.parametrize("seed", range(20))
def test_a_legal_history_is_clean_folded_and_whole(seed: int) -> None:
    messages = legal_history(Random(seed), turns=20)
    assert _folded(messages, [5, 9], WireContext(system_role=True, prefill=False)) == []
    assert _whole(messages, WireContext(system_role=True, prefill=False)) == set()


def test_an_interrupted_call_is_reported_where_it_stands() -> None:
    messages = [user("run"), assistant("ok", call("t1"), call("t2")), user(result("t2"), "use pytest")]
    assert _pairs(_folded(messages, [2], WireContext())) == {("L55", "messages[1].content[1]")}


def test_an_open_call_is_known_at_the_end_alone() -> None:
    state, violations = check_messages(LegalityState(), [user("run"), assistant(call("t1"))], WireContext())
    assert violations == ()
    assert _pairs(check_end(state, WireContext())) == {("L55", "messages[1].content[0]")}


def test_what_the_end_must_know_is_carried_over_a_cut() -> None:
    waiting = ServerToolUseBlock("srvtoolu_1", "web_search", Raw(b"{}"))
    state, _ = check_messages(LegalityState(), [user("a"), assistant("b", waiting)], WireContext())
    assert _pairs(check_end(state, WireContext(), tools=NAMES)) == {("L69", "messages[1].content[1].name")}
    assert check_end(state, WireContext(), tools=frozenset({"web_search"})) == ()
    thought = ThinkingBlock("x", "s")
    state, _ = check_messages(LegalityState(), [user("a"), assistant(thought, call("t1"))], WireContext())
    state, _ = check_messages(state, [user(result("t1"))], WireContext())
    assert _pairs(check_end(state, WireContext(), thinking="disabled")) == {("L87", "messages[1].content[0]")}
    assert check_end(state, WireContext(), thinking="adaptive") == ()


def test_an_answer_at_the_end_is_a_prefill_unless_a_credit_or_a_summary_is_asked_for() -> None:
    context = WireContext(prefill=False)
    state, _ = check_messages(LegalityState(), [user("a"), assistant("b")], context)
    assert _pairs(check_end(state, context)) == {("L13", "messages[1]")}
    assert check_end(state, context, credited=True) == ()
    assert check_end(state, context, summarizing=True) == ()


def test_a_tool_that_is_missing_is_found_once_however_often_it_is_named() -> None:
    found = [ToolReferenceBlock("Gone"), ToolReferenceBlock("Gone")]
    messages = [user("a"), assistant(call("t1")), user(ToolResultBlock("t1", tuple(found)))]
    state, _ = check_messages(LegalityState(), messages, WireContext())
    (violation,) = check_end(state, WireContext(), tools=NAMES)
    assert (violation.rule, violation.path) == ("L107", "messages[2].content[0].content[0].tool_name")


def test_indexes_go_on_behind_what_was_folded() -> None:
    state, _ = check_messages(LegalityState(), [user("a"), assistant("b")], WireContext())
    _, violations = check_messages(state, [user("")], WireContext())
    assert _pairs(violations) == {("L07", "messages[2].content[0].text")}


def test_the_operator_s_word_waits_for_what_follows_it() -> None:
    context = WireContext(system_role=True)
    state, violations = check_messages(LegalityState(), [user("a"), system("b")], context)
    assert (violations, check_end(state, context)) == ((), ())
    assert _pairs(check_messages(state, [user("c")], context)[1]) == {("L33", "messages[1]")}
    assert check_messages(state, [assistant("c")], context)[1] == ()


def test_a_lone_surrogate_is_found_before_it_meets_the_encoder() -> None:
    messages = [user("ok \ud83d"), assistant(ThinkingBlock("\ud83d", "s"), call("t1")), user(result("t1", "\udc00"))]
    assert _pairs(_folded(messages, [], WireContext())) == {
        ("W01", "messages[0].content[0].text"),
        ("W01", "messages[1].content[0].thinking"),
        ("W01", "messages[2].content[0].content"),
    }


def test_a_long_history_costs_a_few_calls_a_message() -> None:
    import sys

    messages = [user("a") if number % 2 == 0 else assistant("b") for number in range(1001)]
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        check_messages(LegalityState(), messages, WireContext())
    finally:
        sys.setprofile(None)
    assert calls / len(messages) < 15
