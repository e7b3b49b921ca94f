"""What the stand-in does beside judging: counting, models, searches, edits, summaries, gateways, limits, platforms, records."""

import base64
import json
import zlib

import pytest

from compositor.cli.check import find_bodies
from compositor.emulator.core import Data, Emulator, Request
from compositor.emulator.profile import ServiceProfile, catalog
from compositor.emulator.recording import record_bytes
from compositor.emulator.script import parse_script
from compositor.errors import ConfigError

HI = {"role": "user", "content": "hi"}
READ = {"name": "Read", "description": "d", "input_schema": {"type": "object"}}
BASE = {"model": "claude-sonnet-5-5", "max_tokens": 1000, "messages": [HI]}


def play(script="{repeat: true, turns: [{say: ok}]}", profile=None, platform="claude-api"):
    return Emulator(parse_script(script), profile or catalog(platform))


def send(emulator, path="/v1/messages", method="POST", betas="", headers=None, **body):
    sent = {"anthropic-version": "2026-10-21", "anthropic-beta": betas, **(headers or {})}
    data = json.dumps(body).encode() if body else b""
    return emulator.answer(Request(method=method, path=path, headers=sent, body=data))


def data_of(reply):
    return b"".join(step.data for step in reply.steps if isinstance(step, Data))


def ask(emulator, **more):
    reply = send(emulator, **{**BASE, **more})
    return reply.status, json.loads(data_of(reply))


def events(reply):
    return [json.loads(line[6:]) for line in data_of(reply).decode().splitlines() if line.startswith("data: ")]


# ---------------------------------------------------------------------------------------------------- models and counting


def test_each_model_is_judged_by_its_own_abilities():
    emulator = play()
    assert ask(emulator, model="claude-opus-4-5", thinking={"type": "adaptive"})[1]["error"]["message"].startswith(
        "adaptive thinking"
    )
    assert ask(emulator, model="claude-opus-5-5", thinking={"type": "adaptive"})[0] == 200
    status, answer = ask(emulator, model="claude-nonesuch")
    assert (status, answer["error"]["type"], answer["error"]["message"]) == (
        404,
        "not_found_error",
        "model: claude-nonesuch",
    )
    assert (
        ask(Emulator(parse_script("turns: [{say: ok}]"), catalog(conservative=True)), model="claude-nonesuch")[0] == 200
    )
    with pytest.raises(ConfigError, match="no platform 'moon'"):
        catalog("moon")


def test_counting_takes_no_limit_uses_no_turn_and_writes_no_cache():
    emulator = play("turns: [{say: ok}]", ServiceProfile(cache_minimum=1))
    marked = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    reply = send(emulator, "/v1/messages/count_tokens", model="m-1", messages=[{"role": "user", "content": marked}])
    assert json.loads(data_of(reply)) == {"input_tokens": 7}
    refused = send(emulator, "/v1/messages/count_tokens", model="m-1", max_tokens=1, messages=[HI])
    assert "max_tokens: Extra inputs" in json.loads(data_of(refused))["error"]["message"]
    assert ask(emulator, messages=[{"role": "user", "content": marked}])[1]["usage"]["cache_creation_input_tokens"] == 7


def test_counting_shows_what_edits_would_leave():
    edits = {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "tool_uses", "value": 1},
                "keep": {"type": "tool_uses", "value": 0},
            }
        ]
    }
    history = [HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
               {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x" * 4000}]}]  # fmt: skip
    reply = send(play(), "/v1/messages/count_tokens", betas="context-management-2025-06-27", model="claude-opus-4-6",
                 messages=history, tools=[READ], context_management=edits)  # fmt: skip
    counted = json.loads(data_of(reply))
    assert counted["context_management"]["original_input_tokens"] - counted["input_tokens"] > 900


def test_the_tokens_that_tools_cost_are_those_of_the_price_page():
    """Opus 4.8: 290 tokens for any tool with free choice, 410 with a forced one (wire page 9.2)."""
    for choice, preamble in (({"type": "auto"}, 290), ({"type": "any"}, 410)):
        counted = [
            json.loads(data_of(send(play(profile=profile), "/v1/messages/count_tokens", model="claude-opus-4-8",
                                    messages=[HI], tools=[READ], tool_choice=choice)))["input_tokens"]
            for profile in (catalog(), ServiceProfile())
        ]  # fmt: skip
        assert counted[0] - counted[1] == preamble


# ------------------------------------------------------------------------------------------------------------- tool search


WEATHER = {"name": "get_weather", "description": "Sky and rain.", "defer_loading": True,
           "input_schema": {"type": "object", "properties": {"city": {"description": "a town"}}}}  # fmt: skip
CLOCK = {
    "name": "get_time",
    "description": "What time it is.",
    "defer_loading": True,
    "input_schema": {"type": "object"},
}
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
WORDS = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


@pytest.mark.parametrize(
    ("search", "query", "found"),
    [
        (REGEX, "WEATHER", ["get_weather"]),
        (REGEX, "a town", ["get_weather"]),
        (REGEX, "get_.*", ["get_weather", "get_time"]),
        (REGEX, "{pattern: get_, limit: 1}", ["get_weather"]),
        (REGEX, "snow", []),
        (WORDS, "what is the time", ["get_time", "get_weather"]),
        (WORDS, "rain", ["get_weather"]),
    ],
)
def test_the_service_searches_names_descriptions_and_arguments(search, query, found):
    status, answer = ask(play(f"turns: [{{do: [{{find_tools: {query}}}]}}]"), tools=[search, WEATHER, CLOCK])
    assert status == 200
    call, result = answer["content"]
    assert (call["name"], result["tool_use_id"], answer["stop_reason"]) == (search["name"], call["id"], "end_turn")
    names = [reference["tool_name"] for reference in result["content"]["tool_references"]]
    assert names == found or (search is WORDS and set(found) >= set(names) and names[0] == found[0])


@pytest.mark.parametrize("pattern", ["'['", "a" * 201])
def test_a_pattern_that_is_none_is_an_error_inside_the_result(pattern):
    answer = ask(play(f"turns: [{{do: [{{find_tools: {pattern}}}]}}]"), tools=[REGEX, WEATHER])[1]
    assert answer["content"][1]["content"] == {
        "type": "tool_search_tool_result_error",
        "error_code": "invalid_tool_input",
    }


def test_a_client_s_own_search_is_found_like_any_tool():
    own = {"name": "ToolSearch", "description": "d", "input_schema": {"type": "object", "properties": {"query": {}}}}
    answer = ask(play("turns: [{do: [{find_tools: rain}]}]"), tools=[own, WEATHER])[1]
    assert (answer["content"][0]["type"], answer["content"][0]["input"]) == ("tool_use", {"query": "rain"})


def test_a_server_tool_with_and_without_its_result():
    search = {"type": "web_search_20250305", "name": "web_search"}
    script = "turns: [{do: [{server: {tool: web_search, input: {query: q}}}]}, {do: [{server: {tool: web_search, result: []}}], say: found}]"
    emulator = play(script)
    waiting = ask(emulator, tools=[search])[1]
    assert (waiting["stop_reason"], [block["type"] for block in waiting["content"]]) == (
        "pause_turn",
        ["server_tool_use"],
    )
    # Sent again as it is, the turn goes on (L72).
    status, done = ask(emulator, tools=[search], messages=[HI, {"role": "assistant", "content": waiting["content"]}])
    assert (status, done["usage"]["server_tool_use"]["web_search_requests"]) == (200, 1)


def test_a_server_result_is_a_marker_of_its_own_once_there_is_any():
    script = "turns: [{parts: [{do: [{server: {tool: web_search, result: []}}]}, {say: found}]}, {say: ok}]"
    profile = ServiceProfile(cache_minimum=1)
    search = {"type": "web_search_20250305", "name": "web_search"}
    emulator = play(script, profile)
    marked = {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}
    first = ask(emulator, tools=[search], messages=[marked])[1]
    # [hi] is 7 tokens; the call and its result are written behind it, for five minutes.
    call, result = first["content"][:2]
    size = sum(-(-len(json.dumps(block, separators=(",", ":"))) // 4) for block in (call, result))
    assert first["usage"]["cache_creation"]["ephemeral_5m_input_tokens"] == 7 + size
    last = {"role": "user", "content": [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}]}
    second = ask(emulator, tools=[search], messages=[HI, {"role": "assistant", "content": first["content"]}, last])[1]
    assert second["usage"]["cache_read_input_tokens"] == 7 + size


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


EDITS = "context-management-2025-06-27,compact-2026-01-12"


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


# ----------------------------------------------------------------------------------------------------------------- gateways


def test_a_gateway_that_strips_betas_turns_beta_fields_into_foreign_ones():
    body = {**BASE, "model": "claude-opus-4-6", "context_management": {"edits": []}}
    assert send(play(), betas=EDITS, **body).status == 200
    reply = send(play("{gateway: {strip_betas: true}, turns: [{say: ok}]}"), betas=EDITS, **body)
    assert json.loads(data_of(reply))["error"]["message"] == "context_management: Extra inputs are not permitted"


def test_a_gateway_that_rejects_a_field():
    reply = send(play("{gateway: {reject_fields: [metadata]}, turns: [{say: ok}]}"), **BASE, metadata={"user_id": "u"})
    assert (reply.status, json.loads(data_of(reply))["error"]["message"]) == (400, "Unknown parameter: 'metadata'")


def test_a_gateway_that_rewrites_ids_breaks_the_pair_on_the_way_back():
    emulator = play("{gateway: {rewrite_ids: true}, turns: [{do: [{call: {tool: Read}}]}]}")
    call = ask(emulator, tools=[READ])[1]["content"][0]
    assert call["id"] == "call.Read:0"
    rows = [
        HI,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"]}]},
    ]
    assert ask(emulator, tools=[READ], messages=rows)[0] == 400
    assert emulator.requests[-1].refusal.rule == "L61"


def test_a_gateway_that_injects_markers_breaks_the_number_of_them():
    emulator = play("{gateway: {inject_markers: 1}, turns: [{say: ok}]}")
    marker = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "s", **marker} for _ in range(4)]
    assert ask(emulator, system=system)[0] == 400
    assert emulator.requests[-1].refusal.rule == "L120"


def test_a_gateway_that_hides_details():
    script = (
        "gateway: {hide_details: true}\nturns: [{say: ok, faults: [{status: 429, code: enforced_spend_limit_reached}]}]"
    )
    assert "details" not in ask(play(script))[1]["error"]


def test_wrong_usage_is_an_answer_that_is_whole_otherwise():
    emulator = play("turns: [{say: ok, faults: [{usage: {output_tokens: 99999, input_tokens: 0}}]}, {say: next}]")
    answer = ask(emulator)[1]
    assert (answer["content"][0]["text"], answer["usage"]["output_tokens"], answer["usage"]["input_tokens"]) == (
        "ok",
        99999,
        0,
    )
    assert ask(emulator)[1]["content"][0]["text"] == "next"


# ------------------------------------------------------------------------------------------------------------------- limits


def test_a_bucket_that_is_empty_refuses_until_it_has_filled():
    emulator = play("{limits: {requests: 2}, repeat: true, turns: [{say: ok}]}")
    first = send(emulator, **BASE)
    headers = dict(first.headers)
    assert (headers["anthropic-ratelimit-requests-limit"], headers["anthropic-ratelimit-requests-remaining"]) == (
        "2",
        "1",
    )
    # One request is half of two a minute: full again after thirty seconds.
    assert headers["anthropic-ratelimit-requests-reset"] == "2026-01-01T00:00:30Z"
    assert send(emulator, **BASE).status == 200
    refused = send(emulator, **BASE)
    assert (refused.status, dict(refused.headers)["retry-after"]) == (429, "30")
    emulator.advance(30)
    assert send(emulator, **BASE).status == 200


def test_cached_tokens_do_not_count_against_the_input_bucket():
    emulator = play("{limits: {input_tokens: 1500}, repeat: true, turns: [{say: ok}]}", ServiceProfile(cache_minimum=1))
    system = [{"type": "text", "text": "s" * 3975, "cache_control": {"type": "ephemeral"}}]
    left = [
        int(dict(send(emulator, **BASE, system=system).headers)["anthropic-ratelimit-input-tokens-remaining"])
        for _ in range(2)
    ]
    assert left == [1500 - 1007, 1500 - 1007 - 7]
    assert int(dict(send(emulator, **BASE, system=system).headers)["anthropic-ratelimit-tokens-limit"]) == 1500


# ---------------------------------------------------------------------------------------------------------------- platforms


def test_bedrock_takes_model_and_version_elsewhere_and_streams_in_its_own_form():
    emulator = play(platform="bedrock-legacy")
    body = {"anthropic_version": "bedrock-2023-05-30", "max_tokens": 100, "messages": [HI]}
    refused = send(emulator, "/model/us.anthropic.claude-opus-4-6-v1:0/invoke", **body)
    assert "is not a valid version" in json.loads(data_of(refused))["error"]["message"]
    body["anthropic_version"] = "bedrock-2023-05-31"
    assert send(emulator, "/model/us.anthropic.claude-opus-4-6-v1:0/invoke", **body).status == 200
    assert send(emulator, "/model/claude-opus-4-6/invoke", **body, cache_control={"type": "ephemeral"}).status == 400
    assert emulator.requests[-1].refusal.rule == "L135"
    reply = send(emulator, "/model/us.anthropic.claude-opus-4-6-v1:0/invoke-with-response-stream", **body)
    names = [event["type"] for event in aws_events(data_of(reply))]
    assert (names[0], names[-1]) == ("message_start", "message_stop")


def aws_events(data):
    """The events of an AWS event stream, with both checksums checked."""
    while data:
        total, headers = int.from_bytes(data[:4]), int.from_bytes(data[4:8])
        assert zlib.crc32(data[:8]) == int.from_bytes(data[8:12])
        assert zlib.crc32(data[: total - 4]) == int.from_bytes(data[total - 4 : total])
        payload = json.loads(data[12 + headers : total - 4])
        yield json.loads(base64.b64decode(payload["bytes"]))
        data = data[total:]


def test_google_takes_the_model_in_the_address_and_the_version_in_the_body():
    path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-8:streamRawPredict"
    body = {"anthropic_version": "vertex-2023-10-16", "max_tokens": 100, "messages": [HI]}
    assert events(send(play(platform="vertex"), path, **body))[0]["message"]["model"] == "claude-opus-4-8"
    picture = {
        "role": "user",
        "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}],
    }
    assert send(play(platform="vertex"), path, **{**body, "messages": [picture]}).status == 400


def test_a_beta_that_nobody_documented_is_refused():
    reply = send(play(), betas="compact-2026-09-04,compact-2026-09-05", **BASE)
    said = "Unexpected value(s) `compact-2026-09-05` for the `anthropic-beta` header"
    assert (reply.status, json.loads(data_of(reply))["error"]["message"]) == (400, said)


def test_what_a_platform_does_not_have():
    body = {**BASE, "model": "claude-opus-4-8"}
    compaction = {"betas": "compact-2026-09-04", "compaction": {"type": "summarize"}}
    assert [send(play(platform=name), **body, **compaction).status for name in ("claude-api", "bedrock")] == [200, 400]
    assert send(play(platform="claude-aws"), **body).status == 400
    assert send(play(platform="claude-aws"), headers={"anthropic-workspace-id": "w"}, **body).status == 200
    assert not any(name.startswith("anthropic-ratelimit") for name, _ in send(play(platform="foundry"), **body).headers)
    assert (
        send(play(platform="gateway"), "/v1/messages/count_tokens", model="claude-opus-4-8", messages=[HI]).status
        == 404
    )
    assert send(play(profile=ServiceProfile(lists_models=False)), "/v1/models", "GET").status == 404


def test_an_old_model_counts_the_output_into_the_window():
    emulator = play(profile=ServiceProfile(window=1000, counts_max_tokens=True))
    assert ask(emulator, max_tokens=993)[0] == 200
    status, answer = ask(emulator, max_tokens=994)
    assert (status, answer["error"]["message"]) == (
        400,
        "input length and `max_tokens` exceed context limit: 7 + 994 > 1000",
    )


# ------------------------------------------------------------------------------------------------------- answers and records


def test_thinking_that_is_off_or_omitted():
    script = "turns: [{think: hm, say: a}]"
    off = ask(play(script), model="claude-opus-4-8")[1]
    assert [block["type"] for block in off["content"]] == ["text"]
    omitted = ask(play(script), thinking={"type": "adaptive", "display": "omitted"})[1]["content"][0]
    assert (omitted["thinking"], bool(omitted["signature"])) == ("", True)


def test_refusals_and_stop_sequences_of_the_model():
    answer = ask(play("turns: [{say: never, stop: refusal, category: cyber}]"))[1]
    assert (answer["stop_reason"], answer["stop_details"]["category"]) == ("refusal", "cyber")
    answer = ask(play("turns: [{say: a, stop: stop_sequence}]"), stop_sequences=["END"])[1]
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "END")


def test_citations_stream_behind_their_text():
    citation = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    script = f"turns: [{{parts: [{{say: a, citations: [{json.dumps(citation)}]}}]}}, {{parts: [{{say: a, citations: [{json.dumps(citation)}]}}]}}]"
    emulator = play(script)
    streamed = events(send(emulator, **BASE, stream=True))
    assert [event["delta"]["type"] for event in streamed if event["type"] == "content_block_delta"] == [
        "text_delta",
        "citations_delta",
    ]
    assert (
        next(event for event in streamed if event["type"] == "content_block_start")["content_block"]["citations"] == []
    )
    assert ask(emulator)[1]["content"][0]["citations"] == [citation]


def test_conditions_choose_the_turn_by_the_request():
    script = "turns: [{when: {model: claude-opus-5-5}, say: opus}, {when: {text_contains: tests}, say: testing}, {say: else}]"
    assert ask(play(script), model="claude-opus-5-5")[1]["content"][0]["text"] == "opus"
    assert (
        ask(play(script), messages=[{"role": "user", "content": "run the tests"}])[1]["content"][0]["text"] == "testing"
    )
    assert ask(play(script))[1]["content"][0]["text"] == "else"


def test_a_record_is_what_the_check_command_reads():
    emulator = play()
    send(emulator, headers={"x-api-key": "k-secret"}, **BASE)
    send(emulator, **{**BASE, "messages": []})
    emulator.answer(Request(method="POST", path="/v1/messages", headers={}, body=b"{"))
    first, second, third = (
        record_bytes(recorded, number) for number, recorded in enumerate(emulator.requests, start=1)
    )
    assert b"k-secret" not in first
    assert json.loads(first)["use"] == {"read": 0, "written_5m": 0, "written_1h": 0, "fresh": 7}
    assert json.loads(second)["refusal"]["rule"] == "L02"
    assert base64.b64decode(json.loads(third)["body_base64"]) == b"{"
    (found,) = find_bodies("0001.json", first)
    assert found.data == json.dumps(BASE).encode()
    assert found.headers["anthropic-version"] == "2026-10-21"
