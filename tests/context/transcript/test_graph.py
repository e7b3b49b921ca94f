"""The logical graph: leaf choice, the walk, bridges, cycles, and messages made whole."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.transcript.graph import Branch, Path, active_path
from compositor.types.blocks import ThinkingBlock, ToolUseBlock
from compositor.types.entries import (
    AssistantEntry,
    ProgressEntry,
    TranscriptEntry,
    UnknownEntry,
    UserEntry,
)
from compositor.types.json import EMPTY_OBJECT
from compositor.types.usage import Usage
from tests.context.transcript.small import FORKED, LINEAR, answer, codes, ids, marker, note, result, user


def test_a_plain_session_is_its_own_path() -> None:
    path = active_path(LINEAR)
    assert path.entries == tuple(LINEAR)
    assert (path.tip, path.branches, path.diagnostics) == ("a2", (), ())


@pytest.mark.req("R150", "R151")
def test_the_newest_message_leads_and_the_other_branch_is_named() -> None:
    """The last line belongs to a branch that was left."""
    path = active_path(FORKED)
    assert ids(path) == ["u1", "a1", "u3", "a3"]
    assert path.branches == (Branch("u4", "0004", "a1"),)
    assert codes(path) == ["branches"]


@pytest.mark.req("R150")
@given(st.randoms(use_true_random=False))
def test_file_order_is_not_message_order(chance: random.Random) -> None:
    shuffled = list(FORKED)
    chance.shuffle(shuffled)
    path, expected = active_path(shuffled), active_path(FORKED)
    assert (path.entries, path.tip, path.branches) == (expected.entries, expected.tip, expected.branches)


def test_a_side_record_on_an_old_leaf_does_not_draw_the_path_there() -> None:
    path = active_path([*FORKED, marker("m1", "u4", 99), note("n1", "a2", 99)])
    assert ids(path) == ["u1", "a1", "u3", "a3"]


def test_what_hangs_behind_the_newest_message_belongs_to_the_path() -> None:
    path = active_path([*LINEAR, note("n1", "a2", 5), user("u3", "n1", 6, meta=True), marker("m1", "u3", 7)])
    assert ids(path) == ["u1", "a1", "u2", "a2", "n1", "u3"]
    assert path.tip == "m1"


def test_a_meta_message_alone_does_not_win_over_a_real_one() -> None:
    path = active_path(
        [user("u1", None, 1), answer("a1", "u1", 2), answer("a2", "u1", 3), user("x", "u1", 9, meta=True)]
    )
    assert ids(path) == ["u1", "a2"]


def test_a_chosen_leaf_ends_the_path() -> None:
    assert ids(active_path(FORKED, leaf="u2")) == ["u1", "a1", "u2"]


def test_nothing_from_behind_a_chosen_leaf_is_taken_in() -> None:
    history = [
        user("u1", None, 1),
        answer("a1", "u1", 2, "t1", "t2"),
        result("r1", "a1", 3, "t1"),
        result("r2", "r1", 4, "t2"),
    ]
    assert ids(active_path([*history, note("n1", "r2", 5)], leaf="r1")) == ["u1", "a1", "r1"]
    assert ids(active_path([*history, note("n1", "r2", 5)], leaf="r2")) == ["u1", "a1", "r1", "r2"]


def test_an_unknown_leaf_gives_the_newest_path_and_a_word() -> None:
    path = active_path(LINEAR, leaf="nobody")
    assert ids(path) == ["u1", "a1", "u2", "a2"]
    assert codes(path) == ["unknown_leaf"]


@pytest.mark.req("R156", "R160")
def test_markers_progress_and_unknown_entries_are_walked_through_and_left_out() -> None:
    chain: list[TranscriptEntry] = [
        user("u1", None, 1),
        ProgressEntry(uuid="p1", parent="u1", time="0002", text="working"),
        UnknownEntry(uuid="x1", parent="p1", time="0003", type="poll", raw=EMPTY_OBJECT),
        marker("m1", "x1", 4),
        answer("a1", "m1", 5),
    ]
    path = active_path(chain)
    assert ids(path) == ["u1", "a1"]
    assert [found.uuid for found in path.markers] == ["m1"]


@pytest.mark.req("R158")
def test_a_missing_parent_is_bridged_by_file_order_and_told() -> None:
    path = active_path([user("u1", None, 1), answer("a1", "u1", 2), user("u2", "gone", 3), answer("a2", "u2", 4)])
    assert ids(path) == ["u1", "a1", "u2", "a2"]
    assert [(found.code, found.where) for found in path.diagnostics] == [("transcript.missing_parent", "u2")]
    assert "'gone'" in path.diagnostics[0].message


@pytest.mark.req("R158")
def test_a_truncated_file_begins_where_it_begins() -> None:
    path = active_path(LINEAR[2:])
    assert ids(path) == ["u2", "a2"]
    assert "begins here" in path.diagnostics[0].message


def test_a_cycle_above_the_leaf_is_cut() -> None:
    path = active_path([user("u1", "a2", 1), answer("a1", "u1", 2), answer("a2", "a1", 3), user("u2", "a2", 4)])
    assert ids(path) == ["u1", "a1", "a2", "u2"]
    assert codes(path) == ["cycle"]


def test_a_session_of_one_cycle_still_gives_a_path() -> None:
    path = active_path([user("u1", "a1", 1), answer("a1", "u1", 2)])
    assert ids(path) == ["u1", "a1"]
    assert "cycle" in codes(path)


def test_an_entry_that_is_its_own_parent() -> None:
    assert ids(active_path([user("u1", "u1", 1)])) == ["u1"]


def test_a_cycle_beside_the_path_is_left_out_and_told() -> None:
    path = active_path([*LINEAR, user("x", "y", 8), answer("y", "x", 9)])
    assert ids(path) == ["u1", "a1", "u2", "a2"]
    assert codes(path) == ["cycle"]
    assert path.diagnostics[0].message.startswith("2 entries")


def test_the_first_of_two_records_with_one_id_counts() -> None:
    path = active_path([user("u1", None, 1), answer("u1", None, 2), answer("a1", "u1", 3)])
    assert isinstance(path.entries[0], UserEntry)
    assert ids(path) == ["u1", "a1"]
    assert codes(path) == ["duplicate_id"]


def test_nothing_gives_nothing() -> None:
    assert active_path([]) == Path()


def test_a_message_stored_as_several_records_is_one_again() -> None:
    thinking = AssistantEntry(
        uuid="a1",
        parent="u1",
        time="0002",
        message_id="M",
        model="m",
        content=(ThinkingBlock("hm", "sig"),),
        stop_reason=None,
        usage=Usage(output_tokens=1),
        prefix_digest="d",
    )
    path = active_path(
        [user("u1", None, 1), thinking, answer("a2", "a1", 3, "t1", message="M"), result("r1", "a2", 4, "t1")]
    )
    assert ids(path) == ["u1", "a2", "r1"]
    whole = path.entries[1]
    assert isinstance(whole, AssistantEntry)
    assert whole.content == (ThinkingBlock("hm", "sig"), ToolUseBlock("t1", "Read", EMPTY_OBJECT))
    assert (whole.parent, whole.stop_reason, whole.usage) == ("u1", "tool_use", Usage(output_tokens=3))
    assert whole.prefix_digest == "d"
    assert path.joined == {"a2": ("a1", "a2")}


PARALLEL: list[TranscriptEntry] = [
    user("u1", None, 1),
    answer("a1", "u1", 2, "t1", message="M"),
    answer("a2", "a1", 3, "t2", message="M"),
    answer("a3", "a2", 4, "t3", message="M"),
    result("r3", "a3", 5, "t3"),
    note("n3", "r3", 5),
    result("r1", "a1", 6, "t1"),
    note("n1", "r1", 6),
    result("r2", "a2", 7, "t2"),
]


def test_results_of_parallel_calls_are_rejoined() -> None:
    """Each result's parent is its own call's record, so the walk meets one of three."""
    path = active_path([*PARALLEL, answer("b1", "r2", 8)])
    assert sorted(ids(path)[2:-1]) == ["n1", "n3", "r1", "r2", "r3"]
    assert ids(path)[:2] == ["u1", "a3"]
    assert ids(path)[-1] == "b1"
    whole = path.entries[1]
    assert isinstance(whole, AssistantEntry)
    assert [block.id for block in whole.content if isinstance(block, ToolUseBlock)] == ["t1", "t2", "t3"]
    assert (path.branches, path.diagnostics) == ((), ())


@given(st.randoms(use_true_random=False), st.sampled_from(["n3", "n1", "r2"]))
def test_parallel_results_are_all_there_whichever_the_session_went_on_from(chance: random.Random, parent: str) -> None:
    shuffled = [*PARALLEL, answer("b1", parent, 8)]
    chance.shuffle(shuffled)
    path = active_path(shuffled)
    assert sorted(ids(path)) == ["a3", "b1", "n1", "n3", "r1", "r2", "r3", "u1"]
    assert path.branches == ()


def test_a_result_that_came_before_the_next_part_of_its_message() -> None:
    path = active_path(
        [
            user("u1", None, 1),
            answer("a1", "u1", 2, "t1", message="M"),
            result("r1", "a1", 3, "t1"),
            answer("a2", "r1", 4, "t2", message="M"),
            result("r2", "a2", 5, "t2"),
            answer("b1", "r2", 6),
        ]
    )
    assert ids(path) == ["u1", "a2", "r1", "r2", "b1"]


def test_a_call_that_was_answered_on_the_path_takes_no_second_result() -> None:
    """A rewind to the call: its first result and what followed are another branch."""
    path = active_path(
        [
            user("u1", None, 1),
            answer("a1", "u1", 2, "t1"),
            result("old", "a1", 3, "t1"),
            answer("b1", "old", 4),
            result("new", "a1", 5, "t1"),
            answer("b2", "new", 6),
        ]
    )
    assert ids(path) == ["u1", "a1", "new", "b2"]
    assert path.branches == (Branch("b1", "0004", "a1"),)


def test_an_attachment_that_another_branch_went_on_from_stays_there() -> None:
    path = active_path([*LINEAR, note("n1", "a1", 3), user("x", "n1", 3)])
    assert ids(path) == ["u1", "a1", "u2", "a2"]
    assert [branch.leaf for branch in path.branches] == ["x"]


def test_records_that_repeat_what_came_before_do_not_double_it() -> None:
    first = answer("a1", "u1", 2, "t1", message="M")
    grown = answer("a2", "a1", 3, "t1", "t2", message="M")
    again = answer("a3", "a2", 4, "t2", message="M")
    path = active_path([user("u1", None, 1), first, grown, again])
    whole = path.entries[1]
    assert isinstance(whole, AssistantEntry)
    assert [block.id for block in whole.content if isinstance(block, ToolUseBlock)] == ["t1", "t2"]


def test_one_message_id_in_two_places_stays_two_messages() -> None:
    path = active_path(
        [
            user("u1", None, 1),
            answer("a1", "u1", 2, message="M"),
            answer("b1", "a1", 3),
            answer("a2", "b1", 4, message="M"),
        ]
    )
    assert ids(path) == ["u1", "a1", "b1", "a2"]


def test_an_earlier_part_that_is_not_linked_is_told_as_such() -> None:
    path = active_path([*LINEAR, marker("m1", None, 5), user("s1", "m1", 6), answer("s2", "s1", 7)])
    assert ids(path) == ["s1", "s2"]
    assert path.branches == (Branch("a2", "0004", None),)
    assert codes(path) == ["earlier_parts"]


def test_long_side_lines_are_no_burden() -> None:
    """Deeper than Python's stack, and no time that grows with the square."""
    notes = [note(f"n{n}", f"n{n - 1}" if n else "a1", 3) for n in range(5000)]
    path = active_path([*LINEAR, *notes])
    assert ids(path)[-2:] == ["u2", "a2"]
    assert len(path.entries) == 5004
    path = active_path([*LINEAR, *notes, user("x", "n4999", 3)])
    assert ids(path) == ["u1", "a1", "u2", "a2"]
    assert [(branch.leaf, branch.fork) for branch in path.branches] == [("x", "a1")]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9), st.none() | st.integers(0, 12), st.integers(0, 5), st.integers(0, 4), st.integers(0, 3)
        ),
        max_size=14,
    )
)
def test_no_history_is_too_odd(rows: list[tuple[int, int | None, int, int, int]]) -> None:
    """Duplicate ids, cycles, missing parents, shared message ids: always a path, each id once, parents before children."""
    history: list[TranscriptEntry] = []
    for uuid, parent, kind, number, time in rows:
        name, above = str(uuid), None if parent is None else str(parent)
        call = f"t{number}"
        made: list[TranscriptEntry] = [
            user(name, above, time),
            answer(name, above, time, call, message=f"M{number}"),
            answer(name, above, time, message=f"M{number}"),
            result(name, above or "", time, call),
            note(name, above or "", time),
            marker(name, above, time),
        ]
        history.append(made[kind])
    path = active_path(history)
    assert len(set(ids(path))) == len(ids(path))
    assert set(ids(path)) <= {entry.uuid for entry in history}
    if any(isinstance(entry, UserEntry | AssistantEntry) for entry in history):
        assert path.tip is not None
    told = set(ids(path)) | {record for records in path.joined.values() for record in records}
    for branch in path.branches:
        assert branch.leaf not in told
