"""Context editing, summaries at a threshold and on demand, diagnostics of the cache."""

import json

import pytest

from tests.emulator.playing import BASE, EDITS, HI, READ, ask, data_of, events, play, send

# --------------------------------------------------------------------------------------------------- editing and summaries


def history(*sizes):
    """A question, and calls with results of so many letters."""
    rows = [HI]
    for number, size in enumerate(sizes):
        rows.append(
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"n": number}}],
            }
        )
        rows.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "x" * size}]}
        )
    return rows


def edited(edits, messages, **more):
    script, rest = (
        more.pop("script", "{repeat: true, turns: [{say: ok}]}"),
        {"model": "claude-opus-4-6", "tools": [READ], **more},
    )
    reply = send(
        play(script), betas=EDITS, **{**BASE, "messages": messages, "context_management": {"edits": edits}, **rest}
    )
    return json.loads(data_of(reply))


def test_old_results_are_cleared_beyond_the_trigger():
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 3},
        "keep": {"type": "tool_uses", "value": 1},
    }
    answer = edited([edit], history(4000, 4000, 4000))
    (applied,) = answer["context_management"]["applied_edits"]
    assert (applied["type"], applied["cleared_tool_uses"]) == ("clear_tool_uses_20250919", 2)
    # Two results of 4,000 letters make room for a line of 33 letters each: 2 * (4000 - 33) / 4.
    assert abs(applied["cleared_input_tokens"] - 2 * (4000 - 33) / 4) <= 2


@pytest.mark.parametrize(
    "change",
    [
        {"trigger": {"type": "tool_uses", "value": 4}},
        {"trigger": {"type": "input_tokens", "value": 10_000}},
        {"exclude_tools": ["Read"]},
        {"clear_at_least": {"type": "input_tokens", "value": 5_000}},
        {"keep": {"type": "tool_uses", "value": 3}},
        {"trigger": None},
    ],
)
def test_results_stay_when_a_condition_does_not_hold(change):
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 3},
        "keep": {"type": "tool_uses", "value": 1},
    }
    answer = edited([{**edit, **change}], history(4000, 4000, 4000))
    assert answer["context_management"]["applied_edits"] == []


def test_the_inputs_of_cleared_calls_go_too_when_that_is_asked_for():
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 1},
        "keep": {"type": "tool_uses", "value": 0},
    }
    sizes = [
        edited([{**edit, "clear_tool_inputs": inputs}], history(400))["context_management"]["applied_edits"][0][
            "cleared_input_tokens"
        ]
        for inputs in (False, ["Bash"], ["Read"], True)
    ]
    assert sizes[0] == sizes[1] < sizes[2] == sizes[3]


def test_thinking_of_older_turns_is_cleared():
    thinking = [{"type": "adaptive"}]
    emulator = play("turns: [{think: one, say: a}, {think: two, say: b}, {say: ok}]")
    rows = [HI]
    for _ in range(2):
        answer = ask(emulator, model="claude-opus-4-6", messages=rows, thinking=thinking[0])[1]
        rows += [{"role": "assistant", "content": answer["content"]}, HI]
    for keep, turns in (({"type": "thinking_turns", "value": 1}, 1), ("all", 0), ({"type": "all"}, 0), (None, 0)):
        edit = {"type": "clear_thinking_20251015", "keep": keep}
        reply = send(play(), betas=EDITS, **{**BASE, "model": "claude-opus-4-6", "messages": rows, "thinking": thinking[0],
                                             "context_management": {"edits": [edit]}})  # fmt: skip
        applied = json.loads(data_of(reply))["context_management"]["applied_edits"]
        assert [edit["cleared_thinking_turns"] for edit in applied] == [turns][:turns]


BIG = [{"role": "user", "content": "x" * 200_001}]


@pytest.mark.parametrize("pauses", [False, True])
def test_a_threshold_makes_a_summary_that_stands_for_what_was_said(pauses):
    edit = {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": 50_000},
        "pause_after_compaction": pauses,
    }
    answer = edited([edit], BIG)
    kinds = [block["type"] for block in answer["content"]]
    assert (kinds, answer["stop_reason"]) == (
        (["compaction"], "compaction") if pauses else (["compaction", "text"], "end_turn")
    )
    iterations = {entry["type"]: entry for entry in answer["usage"]["iterations"]}
    assert iterations["compaction"]["input_tokens"] > 50_000
    # The summary's cost is not in the sums; the answer saw the summary only.
    assert answer["usage"]["input_tokens"] < 1_000
    again = edited([edit], [*BIG, {"role": "assistant", "content": answer["content"]}, HI])
    assert [block["type"] for block in again["content"]] == ["text"]
    assert again["usage"]["input_tokens"] < 1_000


def test_a_summary_streams_in_one_delta():
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    reply = send(play(), betas=EDITS, **{**BASE, "model": "claude-opus-4-6", "messages": BIG, "stream": True,
                                         "context_management": {"edits": [edit]}})  # fmt: skip
    deltas = [event["delta"]["type"] for event in events(reply) if event["type"] == "content_block_delta"]
    assert deltas == ["compaction_delta", "text_delta"]


def test_a_summary_that_fails():
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    answer = edited([edit], BIG, script="{turns: [{say: ok}], summaries: [null]}")
    assert [block.get("content", "-") for block in answer["content"]] == [None, "-"]
    reply = send(
        play("{turns: [], summaries: [null]}"), betas="compact-2026-09-04", **BASE, compaction={"type": "summarize"}
    )
    assert (json.loads(data_of(reply))["content"], reply.status) == ([], 200)


def test_a_summary_on_demand_costs_in_its_iteration_alone_and_streams_without_a_delta():
    body = {**BASE, "compaction": {"type": "summarize"}, "stream": True}
    reply = send(play("{turns: [], summaries: [a, b]}"), betas="compact-2026-09-04", **body)
    names = [event["type"] for event in events(reply)]
    assert "content_block_delta" not in names
    start = next(event for event in events(reply) if event["type"] == "content_block_start")
    assert (start["content_block"]["content"], bool(start["content_block"]["signature"])) == ("a", True)
    end = next(event for event in events(reply) if event["type"] == "message_delta")
    assert (
        end["usage"]["input_tokens"],
        end["usage"]["output_tokens"],
        end["usage"]["iterations"][0]["input_tokens"],
    ) == (0, 0, 7)


# -------------------------------------------------------------------------------------------------------------- diagnostics


def diagnosed(change, betas="", emulator=None):
    emulator = emulator or play()
    one = {**BASE, "system": "one", "tools": [READ], "messages": [HI, {"role": "assistant", "content": "a"}, HI]}
    first = json.loads(data_of(send(emulator, **one, diagnostics={"previous_message_id": None})))
    assert first["diagnostics"] is None
    second = {**one, "diagnostics": {"previous_message_id": first["id"]}, **change}
    return json.loads(data_of(send(emulator, betas=betas, **second)))["diagnostics"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "claude-opus-5-5"}, "model_changed"),
        ({"tools": [READ, {**READ, "name": "Write"}]}, "tools_changed"),
        ({"system": "two"}, "system_changed"),
        (
            {"messages": [{"role": "user", "content": "ho"}, {"role": "assistant", "content": "a"}, HI]},
            "messages_changed",
        ),
        ({"messages": [HI]}, "messages_changed"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
        ({"diagnostics": {"previous_message_id": "msg_unknown"}}, "previous_message_not_found"),
    ],
)
def test_diagnostics_name_the_earliest_divergence(change, reason):
    assert diagnosed(change)["cache_miss_reason"]["type"] == reason


def test_diagnostics_are_silent_where_nothing_diverges():
    more = [HI, {"role": "assistant", "content": "a"}, HI, {"role": "assistant", "content": "b"}, HI]
    assert diagnosed({}) is None
    assert diagnosed({"messages": more}) is None
    assert diagnosed({"tool_choice": {"type": "auto"}}) is None
    # "ho" has 27 bytes, as "hi", "a" has 26: 7 tokens each, three of them from the change on.
    changed = diagnosed({"messages": [{"role": "user", "content": "ho"}, *more[1:3]]})
    assert changed["cache_miss_reason"]["cache_missed_input_tokens"] == 21
    assert "diagnostics" not in ask(play(platform="bedrock"), model="claude-opus-4-8")[1]
