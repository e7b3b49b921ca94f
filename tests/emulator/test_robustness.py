"""Nothing that a client sends breaks the stand-in: a rich legal body, changed anywhere to anything, is answered with a status."""

import copy
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from compositor.emulator.core import Emulator, Request
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.script import parse_script

BETAS = (
    "context-management-2025-06-27,"
    "compact-2026-01-12,"
    "compact-2026-09-04,"
    "mcp-client-2026-09-15,"
    "inline-tools-2026-09-15,"
    "mid-conversation-output-config-2026-07-01,"
    "mid-conversation-system-clear-at-2026-08-21,"
    "thinking-binding-controls-2026-08-01,"
    "server-side-fallback-2026-07-01,"
    "task-budgets-2026-03-13"
)
MARK = {"type": "ephemeral"}
TOOL = {"name": "Read", "description": "d", "input_schema": {"type": "object"}, "cache_control": MARK}
RICH = {
    "model": "m", "max_tokens": 2000, "stream": True, "system": [{"type": "text", "text": "s", "cache_control": MARK}],
    "tools": [TOOL, {"name": "Later", "input_schema": {"type": "object"}, "defer_loading": True},
              {"type": "web_search_20250305", "name": "web_search"},
              {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
              {"type": "mcp_toolset", "mcp_server_name": "docs"}],
    "mcp_servers": [{"type": "url", "name": "docs", "url": "https://example.com"}],
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    "tool_choice": {"type": "auto"}, "output_config": {"effort": "low", "task_budget": {"remaining": 1}}, "metadata": {"user_id": "u"},
    "diagnostics": {"previous_message_id": None},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}},
        {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 1}, "keep": {"type": "tool_uses", "value": 0},
         "clear_at_least": {"type": "input_tokens", "value": 0}, "exclude_tools": ["Write"], "clear_tool_inputs": ["Read"]},
        {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50000}}]},
    "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "hi"}, {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}, "citations": {"enabled": True}},
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}]},
        {"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {
            "name": "New", "input_schema": {"type": "object"}}}}, {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "Later"}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "x", "signature": "s"}, {"type": "redacted_thinking", "data": "d"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_regex", "input": {"pattern": "a"}},
            {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {
                "type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "Later"}]}},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [
            {"type": "text", "text": "r"}, {"type": "tool_reference", "tool_name": "Later"}]}]},
        {"role": "system", "content": "note", "clear_at": "next_user_message"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "b"},
    ],
}  # fmt: skip
PROFILE = ServiceProfile(
    system_role=True, prefill=True, binds_thinking=True, binds_account=True, foreign_signatures=True
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**12)
    | st.sampled_from(["", " ", "text", "tool_use", "adaptive", "m"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "content", "text", "name", "tool", "source", "url", "cache_control"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=5,
)


def places(value, path=()):
    """Every place of a JSON value, as the way to it."""
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in rows:
        yield (*path, key)
        yield from places(inner, (*path, key))


PLACES = list(places(RICH))


def send(body):
    emulator = Emulator(
        parse_script("{repeat: true, turns: [{say: ok}], urls: {'https://example.com/a.png': [a]}}"), PROFILE
    )
    headers = {"anthropic-version": "2026-10-21", "anthropic-beta": BETAS}
    data = json.dumps(body).encode()
    return [emulator.answer(Request(method="POST", path=path, headers=headers, body=data)).status
            for path in ("/v1/messages", "/v1/messages/count_tokens", "/v1/messages")]  # fmt: skip


def test_the_rich_body_is_legal():
    assert send(RICH) == [200, 400, 200]


@settings(max_examples=150)
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=3))
def test_any_change_anywhere_is_answered(changes):
    body = copy.deepcopy(RICH)
    for path, value in changes:
        place = body
        try:
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    assert set(send(body)) <= {200, 400}
