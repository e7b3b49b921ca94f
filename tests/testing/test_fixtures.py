"""The public fixtures and doubles, used the way others use them."""

import anyio
import httpx2
import pytest

from compositor.emulator.core import Request
from compositor.emulator.profile import ServiceProfile
from compositor.ports import Permission
from compositor.testing.doubles import CountingIds, MovableClock, PreparedAsker
from compositor.types.json import raw_json
from compositor.types.tools import ToolCall

pytest_plugins = ["compositor.testing.fixtures"]

BODY = b'{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
HEADERS = {"anthropic-version": "2026-10-21"}


def test_a_stand_in_as_a_value(make_emulator):
    emulator = make_emulator()
    request = Request(method="POST", path="/v1/messages", headers=HEADERS, body=BODY)
    assert emulator.answer(request).status == 200
    assert make_emulator(profile=ServiceProfile(max_output=5)).answer(request).status == 400
    assert make_emulator(platform="bedrock").answer(request).status == 200


def test_a_stand_in_on_a_port(serve_emulator):
    served = serve_emulator("turns: [{say: over the wire}]")
    answer = httpx2.post(f"{served.url}/v1/messages", content=BODY, headers=HEADERS)
    assert answer.json()["content"][0]["text"] == "over the wire"
    assert served.emulator.requests[0].request.body == BODY


def test_a_clock_moves_only_by_hand():
    clock = MovableClock()
    assert (clock.now(), clock.today(), clock.monotonic()) == ("2026-01-01T12:00:00.000Z", "2026-01-01", 0.0)
    clock.advance(43_200.5)
    assert (clock.now(), clock.today(), clock.monotonic()) == ("2026-01-02T00:00:00.500Z", "2026-01-02", 43_200.5)


def test_ids_count_up_in_the_form_of_uuids():
    ids = CountingIds()
    assert [ids.new(), ids.new()] == ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]


@pytest.mark.parametrize("answers", [(), (True, False)])
def test_a_person_with_prepared_answers_says_no_in_the_end(answers):
    asker = PreparedAsker(answers)
    question = Permission(
        call=ToolCall(id="t", name="Bash", input=raw_json({})), display="d", reason="r", suggestion=None
    )

    async def ask():
        return [await asker.ask(question) for _ in range(3)]

    assert anyio.run(ask) == [*answers, False, False, False][:3]
    assert asker.asked == [question] * 3
