"""Tool search by the service and by the client, and what a server tool leaves."""

import json

import pytest

from compositor.emulator.profile import ServiceProfile
from tests.emulator.playing import HI, ask, play

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
