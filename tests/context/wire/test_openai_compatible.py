"""The other interface: what each message and field becomes, what cannot be said, and answers read back by the one decoder."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compositor.context.finish import finish
from compositor.context.prefix import empty_prefix, extend
from compositor.context.wire.assemble import AssembledMessage, PartialMessage, parse_message
from compositor.context.wire.decode import Decoder
from compositor.context.wire.openai_answers import ChatDecoder, to_messages_answer
from compositor.context.wire.openai_compatible import to_chat
from compositor.types.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from compositor.types.stream import StreamFailure
from tests.properties.building import FACTS, HEAD, OPTIONS, WIRE
from tests.properties.strategies import conversation

BODY: dict[str, Any] = {
    "tools": [
        {"name": "Read", "description": "reads", "input_schema": {"type": "object"}},
        {"name": "Found", "description": "", "input_schema": {"type": "object"}, "defer_loading": True},
        {"name": "Hidden", "description": "", "input_schema": {"type": "object"}, "defer_loading": True},
    ],
    "system": [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "Read", "input": {"n": 1}}, {"type": "tool_use", "id": "t2", "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "seen"}, {"type": "image", "source": {"type": "url", "url": "https://e.example/i.png"}}, {"type": "tool_reference", "tool_name": "Found"}]}, {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True}, {"type": "text", "text": "on"}]},
        {"role": "system", "content": [{"type": "text", "text": "It is late."}]},
    ],
    "model": "llama",
    "max_tokens": 100,
    "stream": True,
    "thinking": {"type": "adaptive"},
    "stop_sequences": ["END"],
    "tool_choice": {"type": "tool", "name": "Read", "disable_parallel_tool_use": True},
    "metadata": {"user_id": "u"},
}  # fmt: skip


def test_a_request_says_all_that_can_be_said() -> None:
    chat = to_chat(msgspec.json.encode(BODY))
    assert msgspec.json.decode(chat.body) == {
        "model": "llama",
        "messages": [
            {"role": "system", "content": "You are an agent."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "go"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                ],
            },
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "t1", "type": "function", "function": {"name": "Read", "arguments": '{"n":1}'}},
                    {"id": "t2", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "seen\n\nThe tool Found can be called now."},
            {"role": "tool", "tool_call_id": "t2", "content": "Error: no"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "(From the result of call t1:)"},
                    {"type": "image_url", "image_url": {"url": "https://e.example/i.png"}},
                    {"type": "text", "text": "on"},
                ],
            },
            {"role": "system", "content": "It is late."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "Read", "description": "reads", "parameters": {"type": "object"}},
            },
            {"type": "function", "function": {"name": "Found", "description": "", "parameters": {"type": "object"}}},
        ],
        "max_tokens": 100,
        "stream": True,
        "stop": ["END"],
        "tool_choice": {"type": "function", "function": {"name": "Read"}},
        "parallel_tool_calls": False,
        "user": "u",
        "stream_options": {"include_usage": True},
    }
    assert [diagnostic.message for diagnostic in chat.diagnostics] == [
        "The chat-completions interface cannot say a 'thinking' block; it was left out",
        "The chat-completions interface cannot say the field 'thinking'; it was left out",
    ]


def test_what_cannot_be_shown_is_counted_and_a_note_stands_in() -> None:
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}}
    image = {"type": "image", "source": {"type": "file", "file_id": "f"}}
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [document, document, image]}]}
    chat = to_chat(msgspec.json.encode(body))
    assert msgspec.json.decode(chat.body)["messages"] == [
        {
            "role": "user",
            "content": "(A document stood here; this service cannot take it.)\n\n"
            "(A document stood here; this service cannot take it.)\n\n"
            "(An image stood here; this service cannot take it.)",
        }
    ]
    assert [diagnostic.message.partition("say ")[2] for diagnostic in chat.diagnostics] == [
        "a 'document' block; it was left out (2 times)",
        "an image by file id; it was left out",
    ]


def test_a_longer_conversation_begins_with_the_messages_of_a_shorter_one() -> None:
    entries = tuple(conversation(31))
    prefix = empty_prefix(HEAD, FACTS, WIRE)
    earlier: list[Any] = []
    for position in range(0, len(entries), 2):
        prefix = extend(prefix, entries[max(position - 1, 0) : position + 1])
        messages = msgspec.json.decode(to_chat(finish(prefix, OPTIONS).body).body)["messages"]
        assert messages[: len(earlier)] == earlier
        earlier = messages


def read(chat: bytes, size: int) -> tuple[AssembledMessage, list[Any]]:
    """The answer by the decoder of all answers, fed in pieces of `size`."""
    translator, decoder = ChatDecoder(), Decoder()
    message, events = PartialMessage(), []
    pieces = [chat[at : at + size] for at in range(0, len(chat), size)]
    for data in [*map(translator.feed, pieces), translator.flush()]:
        for event in decoder.feed(data):
            events.append(event)
            message = message.add(event)
    return message.result(), events


def sse(*chunks: Any) -> bytes:
    lines = [b"data: %b\n\n" % msgspec.json.encode(chunk) for chunk in chunks]
    return b": keep-alive\n\n" + b"".join(lines) + b"data: [DONE]\n\n"


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "llama", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(arguments: str, index: int | None = None, **more: Any) -> dict[str, Any]:
    number = {} if index is None else {"index": index}
    named = {"name": more.pop("name")} if "name" in more else {}
    return {**number, **more, "function": {**named, "arguments": arguments}}


USAGE = {"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}}}  # fmt: skip
STREAM = sse(
    delta(role="assistant", content=""),
    delta(reasoning_content="hm"),
    delta(content="I "),
    delta(content="look."),
    delta(tool_calls=[piece("", 0, id="t1", name="Read")]),
    delta(tool_calls=[piece('{"n"', 0)]),
    delta(tool_calls=[piece("", 1, id="t2", name="Bash"), piece(":1}", 0)]),
    delta(tool_calls=[piece("{}", 1)]),
    delta("tool_calls"),
    USAGE,
)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_streamed_answer_is_read_as_any_other(size: int) -> None:
    message, _ = read(STREAM, size)
    assert message.content == (
        ThinkingBlock("hm", ""),
        TextBlock("I look."),
        ToolUseBlock("t1", "Read", msgspec.Raw(b'{"n":1}')),
        ToolUseBlock("t2", "Bash", msgspec.Raw(b"{}")),
    )
    assert message.stop_reason == "tool_use"
    assert (message.id, message.model) == ("c1", "llama")
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens) == (
        20,
        30,
        7,
    )


def test_servers_that_send_whole_calls_without_a_number_are_understood() -> None:
    chunk = delta("stop", tool_calls=[{"id": "a", "function": {"name": "Read", "arguments": {"n": 1}}}, {"function": {"name": "Bash", "arguments": "{}"}}])  # fmt: skip
    message, _ = read(sse(chunk), 50)
    assert [(call.id, call.name, bytes(call.input)) for call in message.calls] == [
        ("a", "Read", b'{"n":1}'),
        ("call_2", "Bash", b"{}"),
    ]
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("finish", "reason"), [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal")]
)
def test_reasons_to_end(finish: str, reason: str) -> None:
    assert read(sse(delta(content="x"), delta(finish)), 1000)[0].stop_reason == reason


def test_a_cut_answer_stays_cut_and_an_error_is_one() -> None:
    assert read(sse(delta(content="x")), 1000)[0].stop_reason is None
    _, events = read(sse(delta(content="x"), {"error": {"message": "out of memory"}}), 1000)
    assert [event.message for event in events if isinstance(event, StreamFailure)] == ["out of memory"]


def test_a_whole_answer_is_read_as_any_other() -> None:
    said = {"role": "assistant", "content": "ok", "tool_calls": [{"id": "t1", "function": {"name": "Read", "arguments": '{"n":1}'}}]}  # fmt: skip
    answer = {"id": "c1", "model": "llama", "choices": [{"message": said, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}  # fmt: skip
    message = parse_message(to_messages_answer(msgspec.json.encode(answer)))
    assert message.content == (TextBlock("ok"), ToolUseBlock("t1", "Read", msgspec.Raw(b'{"n":1}')))
    assert (message.stop_reason, message.usage.input_tokens) == ("tool_use", 5)
    assert to_messages_answer(b"no answer") == b"no answer"
