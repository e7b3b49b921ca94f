"""The ten live calls against the stand-in: it says what our tables say, so that only the real service can differ."""

import httpx2
import pytest

from compositor.emulator.core import Emulator
from compositor.emulator.profile import catalog
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from scripts.live import PROBES, run_probes, verdict

pytestmark = pytest.mark.anyio


async def test_the_stand_in_differs_from_our_tables_in_nothing(capsys):
    play = Emulator(parse_script("{repeat: true, turns: [{say: ok}]}"), catalog())
    async with httpx2.AsyncClient(transport=EmulatorTransport(play)) as client:
        assert await run_probes(client, "https://api.example/v1/messages", "k-secret") == 0
    printed = capsys.readouterr().out
    assert (printed.count("same"), printed.count("DIFFERS"), "k-secret" in printed) == (10, 0, False)
    assert len(play.requests) == len(PROBES) == 10


def test_a_difference_is_told_with_what_was_said():
    answer = {"type": "error", "error": {"type": "invalid_request_error", "message": "something new"}}
    assert verdict(PROBES[0], 400, answer) == (False, "400 invalid_request_error something new")
    assert verdict(PROBES[6], 400, answer)[0] is False
    assert verdict(PROBES[9], 200, {"usage": {"cache_creation_input_tokens": 0}}) == (
        True,
        "200 cache_creation_input_tokens=0",
    )
