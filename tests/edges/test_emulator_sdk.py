"""The stand-in on a real port, driven by the official Python SDK: streaming, tools, counting, errors by type, retries.

Nothing here knows how the stand-in is built; what the SDK makes of its bytes is the judge.
"""

import anthropic
import httpx2
import pytest

pytest_plugins = ["compositor.testing.fixtures"]
pytestmark = pytest.mark.edges

MODEL = "claude-sonnet-5-5"
READ = {"name": "Read", "description": "Reads a file.", "input_schema": {
    "type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}}  # fmt: skip
HI = [{"role": "user", "content": "hi"}]


def client_of(served, retries=0, **more):
    return anthropic.Anthropic(base_url=served.url, api_key="k-test", max_retries=retries, **more)


def create(client, **fields):
    return client.messages.create(**{"model": MODEL, "max_tokens": 1000, "messages": HI, **fields})


def test_a_message_comes_back_as_the_sdk_knows_it(serve_emulator):
    client = client_of(serve_emulator("turns: [{think: hm, say: Hello.}]"))
    message = create(client)
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert (message.content[1].text, message.stop_reason, message.model) == ("Hello.", "end_turn", MODEL)
    # The block {"type":"text","text":"hi"} has 27 bytes: 7 tokens.
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (7, 0)
    assert message.usage.output_tokens_details.thinking_tokens > 0
    assert message._request_id.startswith("req_emulated_")


def test_the_sdk_s_first_request_carries_the_version_that_it_sends(serve_emulator):
    served = serve_emulator("turns: [{say: a}]")
    create(client_of(served))
    (recorded,) = served.emulator.requests
    assert recorded.request.headers["anthropic-version"] == "2026-10-21"
    assert "k-test" not in repr(recorded)


def test_streaming_gives_every_kind_of_event_and_the_same_message(serve_emulator):
    client = client_of(
        serve_emulator("turns: [{think: hm hm, say: Long enough to be cut in pieces., do: [{read: a.py}]}]")
    )
    kinds = set()
    with client.messages.stream(model=MODEL, max_tokens=1000, messages=HI, tools=[READ]) as stream:
        for event in stream:
            kinds.add(event.type)
        message = stream.get_final_message()
    assert {"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
            "message_stop", "text", "thinking", "input_json"} <= kinds  # fmt: skip
    thinking, text, call = message.content
    assert (thinking.thinking, text.text) == ("hm hm", "Long enough to be cut in pieces.")
    assert thinking.signature
    assert (call.name, call.input, message.stop_reason) == ("Read", {"file_path": "a.py"}, "tool_use")


def test_citations_arrive_with_their_text(serve_emulator):
    citation = "{type: char_location, cited_text: x, document_index: 0, document_title: t, start_char_index: 0, end_char_index: 1}"
    client = client_of(serve_emulator(f"turns: [{{parts: [{{say: a, citations: [{citation}]}}]}}]"))
    with client.messages.stream(model=MODEL, max_tokens=10, messages=HI) as stream:
        (block,) = stream.get_final_message().content
    assert (block.text, block.citations[0].cited_text) == ("a", "x")


def test_a_tool_loop_with_replayed_thinking(serve_emulator):
    served = serve_emulator(
        "turns: [{think: hm, do: [{read: a.py}, {read: b.py}]}, {when: {result_contains: '42'}, say: It is 42.}]"
    )
    client = client_of(served)
    first = create(client, tools=[READ])
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "42"}
        for block in first.content
        if block.type == "tool_use"
    ]
    messages = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    second = create(client, tools=[READ], messages=messages)
    assert (len(results), second.content[0].text) == (2, "It is 42.")
    # The same history with another beginning: the thinking is bound to what it was made under.
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        create(client, tools=[READ], messages=[{"role": "user", "content": "ho"}, *messages[1:]])


def test_caching_shows_in_the_usage_of_both_forms(serve_emulator):
    client = client_of(serve_emulator("{repeat: true, turns: [{say: a}]}"))
    # 25 bytes around the text: 4,000 bytes, 1,000 tokens; the minimum of this model is 512.
    system = [{"type": "text", "text": "s" * 3975, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    written = create(client, system=system).usage
    assert (written.cache_creation_input_tokens, written.cache_creation.ephemeral_1h_input_tokens) == (1000, 1000)
    with client.messages.stream(model=MODEL, max_tokens=10, messages=HI, system=system) as stream:
        read = stream.get_final_message().usage
    assert (read.cache_read_input_tokens, read.cache_creation_input_tokens, read.input_tokens) == (1000, 0, 7)


def test_count_tokens_and_models(serve_emulator):
    served = serve_emulator("turns: []")
    client = client_of(served)
    assert client.messages.count_tokens(model=MODEL, messages=HI).input_tokens == 7
    models = {model.id: model for model in client.models.list()}
    assert (models[MODEL].max_input_tokens, models[MODEL].max_tokens) == (1_000_000, 128_000)
    one = client.models.retrieve("claude-opus-4-5")
    assert (one.id, one.capabilities.thinking.types.enabled.supported) == ("claude-opus-4-5", True)
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("claude-nonesuch")


ERRORS = [
    (400, anthropic.BadRequestError), (401, anthropic.AuthenticationError), (402, anthropic.PaymentRequiredError),
    (403, anthropic.PermissionDeniedError), (404, anthropic.NotFoundError), (409, anthropic.ConflictError),
    (413, anthropic.ContentTooLargeError), (429, anthropic.RateLimitError), (500, anthropic.InternalServerError),
    (529, anthropic.OverloadedError),
]  # fmt: skip


@pytest.mark.parametrize(("status", "kind"), ERRORS)
def test_each_status_is_the_sdk_s_own_exception(serve_emulator, status, kind):
    client = client_of(serve_emulator(f"turns: [{{say: a, faults: [{{status: {status}, message: no luck}}]}}]"))
    with pytest.raises(kind, match="no luck") as caught:
        create(client)
    assert caught.value.status_code == status
    assert caught.value.response.headers["request-id"] == "req_emulated_0001"


def test_an_illegal_request_is_a_bad_request_with_the_service_s_sentence(serve_emulator):
    client = client_of(serve_emulator())
    with pytest.raises(anthropic.BadRequestError, match="tool_use_id"):
        create(
            client, tools=[READ], messages=[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}]
        )
    with pytest.raises(anthropic.NotFoundError, match="claude-nonesuch"):
        create(client, model="claude-nonesuch")


def test_an_error_code_reaches_the_sdk(serve_emulator):
    client = client_of(serve_emulator("turns: [{say: a, faults: [{status: 429, code: enforced_spend_limit_reached}]}]"))
    with pytest.raises(anthropic.RateLimitError) as caught:
        create(client)
    assert caught.value.body["error"]["details"]["error_code"] == "enforced_spend_limit_reached"


@pytest.mark.parametrize("fault", ["status: 529", "status: 500", "status: 429, retry_after: 0.01", "reset: 0"])
def test_the_sdk_s_own_retries_meet_the_turn_again(serve_emulator, fault):
    served = serve_emulator(f"turns: [{{say: at last, faults: [{{{fault}}}]}}]")
    assert create(client_of(served, retries=2)).content[0].text == "at last"
    assert len(served.emulator.requests) == 2
    assert len({recorded.request.body for recorded in served.emulator.requests}) == 1


def test_a_hole_in_the_script_is_not_tried_again(serve_emulator):
    served = serve_emulator("turns: []")
    with pytest.raises(anthropic.APIStatusError) as caught:
        create(client_of(served, retries=2))
    assert (caught.value.status_code, len(served.emulator.requests)) == (501, 1)


def test_an_error_in_the_middle_of_a_stream(serve_emulator):
    client = client_of(serve_emulator("turns: [{say: a, faults: [{error: overloaded_error, message: full}]}]"))
    with (
        pytest.raises(anthropic.APIStatusError, match="full"),
        client.messages.stream(model=MODEL, max_tokens=10, messages=HI) as stream,
    ):
        stream.get_final_message()


@pytest.mark.parametrize(
    ("fault", "kind"), [("reset: 3", httpx2.RemoteProtocolError), ("stall: 3", httpx2.ReadTimeout)]
)
def test_a_broken_and_a_silent_stream(serve_emulator, fault, kind):
    """Once the headers have arrived, the SDK lets the errors of its HTTP library through."""
    client = client_of(serve_emulator(f"turns: [{{say: a, faults: [{{{fault}}}]}}]"), timeout=0.5)
    with pytest.raises(kind), client.messages.stream(model=MODEL, max_tokens=10, messages=HI) as stream:
        stream.get_final_message()


def test_compaction_on_demand_and_threshold_compaction(serve_emulator):
    served = serve_emulator("{turns: [{say: go on}], summaries: [In short.]}")
    client = client_of(served)
    history = [*HI, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "more"}]
    done = client.beta.messages.create(
        model=MODEL, max_tokens=1000, messages=history, compaction={"type": "summarize"}, betas=["compact-2026-09-04"]
    )
    (block,) = done.content
    assert (block.type, block.content, done.stop_reason) == ("compaction", "In short.", "compaction")
    assert (done.usage.input_tokens, done.usage.iterations[0].type) == (0, "compaction")
    after = client.beta.messages.create(
        model=MODEL, max_tokens=1000, betas=["compact-2026-09-04"],
        messages=[{"role": "assistant", "content": [block.to_dict()]}, {"role": "user", "content": "and now"}],
    )  # fmt: skip
    assert after.content[0].text == "go on"


def test_the_service_s_own_tool_search(serve_emulator):
    client = client_of(serve_emulator("turns: [{do: [{find_tools: weather}]}]"))
    deferred = {"name": "get_weather", "description": "d", "input_schema": {"type": "object"}, "defer_loading": True}
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    call, found = create(client, tools=[search, deferred]).content
    assert (call.type, found.type) == ("server_tool_use", "tool_search_tool_result")
    assert [reference.tool_name for reference in found.content.tool_references] == ["get_weather"]


def test_diagnostics_name_what_changed(serve_emulator):
    client = client_of(serve_emulator("{repeat: true, turns: [{say: a}]}"))
    first = create(client, system="one", diagnostics={"previous_message_id": None})
    second = create(client, system="two", diagnostics={"previous_message_id": first.id})
    assert (first.diagnostics, second.diagnostics.cache_miss_reason.type) == (None, "system_changed")
