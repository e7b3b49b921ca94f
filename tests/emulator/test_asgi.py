"""The application without a server: what a client that calls applications directly gets."""

import json

import anyio
import pytest

from compositor.emulator.asgi import EmulatorApp
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script

BODY = b'{"model":"m-1","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'


def call(script, *, pieces=(BODY,), gone=False, heard=None, clock=None, app=None):
    """The messages that the application sent, in order."""
    emulator = Emulator(parse_script(script))
    app = app or EmulatorApp(emulator, on_request=heard, clock=clock)
    waiting = [
        {"type": "http.request", "body": piece, "more_body": number + 1 < len(pieces)}
        for number, piece in enumerate(pieces)
    ]
    waiting += [{"type": "http.disconnect"}] if gone else []
    sent = []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/messages",
        "headers": [(b"Anthropic-Version", b"2026-10-21")],
    }
    anyio.run(app, scope, receive, send)
    return sent


def test_an_answer_is_a_start_its_pieces_and_an_end():
    sent = call("turns: [{say: ok}]", pieces=(BODY[:20], BODY[20:]))
    assert (sent[0]["status"], sent[-1]) == (200, {"type": "http.response.body", "body": b"", "more_body": False})
    assert json.loads(sent[1]["body"])["content"][0]["text"] == "ok"
    assert (b"content-type", b"application/json") in sent[0]["headers"]


def test_slow_and_silent_answers():
    streamed = BODY[:-1] + b',"stream":true}'
    slow = call("turns: [{say: ok, faults: [{slow: 0.001}]}]", pieces=(streamed,))
    assert sum(message["type"] == "http.response.body" for message in slow) == 9
    silent = call("turns: [{say: ok, faults: [{stall: 2}]}]", pieces=(streamed,), gone=True)
    assert (len(silent), silent[-1]["more_body"]) == (3, True)


@pytest.mark.parametrize(("after", "messages"), [(0, 0), (1, 2)])
def test_a_broken_connection_is_an_error_where_the_server_has_no_word_for_it(after, messages):
    sent = []
    emulator = Emulator(parse_script(f"turns: [{{say: ok, faults: [{{reset: {after}}}]}}]"))

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": BODY, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/messages",
        "headers": [(b"anthropic-version", b"2026-10-21")],
    }
    with pytest.raises(ConnectionResetError):
        anyio.run(EmulatorApp(emulator), scope, receive, send)
    assert len(sent) == messages


def test_a_listener_hears_of_each_request_and_a_clock_moves_the_time():
    heard, times = [], iter([10.0, 12.5])
    emulator = Emulator(parse_script("turns: [{say: ok}]"))
    app = EmulatorApp(emulator, on_request=heard.append, clock=lambda: next(times))
    call("turns: []", app=app)
    assert ([recorded.status for recorded in heard], emulator.now) == ([200], 2.5)


def test_the_life_of_a_server_is_acknowledged():
    waiting, sent = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}], []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message["type"])

    anyio.run(EmulatorApp(Emulator(parse_script("turns: []"))), {"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
