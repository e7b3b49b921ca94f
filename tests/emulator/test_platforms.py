"""Gateways that change what passes, rate limits, and the forms of the platforms."""

import base64
import json
import zlib

from compositor.emulator.profile import ServiceProfile
from tests.emulator.playing import BASE, EDITS, HI, READ, ask, data_of, events, play, send

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
