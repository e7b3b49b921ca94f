"""Prompts of MCP servers, typed as commands (project-conventions 7.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.loop.effects import EndReason
from compositor.runtime.offering import split_call
from tests.runtime.long_run import messages_text
from tests.runtime.server_run import ServerRun

pytestmark = pytest.mark.anyio

ONE = "turns: [{say: Hello}]"


@pytest.fixture
def session(tmp_path: Path) -> ServerRun:
    return ServerRun(tmp_path)  # type: ignore[no-untyped-call]


async def test_the_text_of_a_typed_prompt_goes_with_it(session: ServerRun) -> None:
    result = await session.run(ONE, prompt="/mcp__my_server__greet 'Ada Lovelace'")  # type: ignore[no-untyped-call]
    assert result.reason is EndReason.COMPLETED, result.detail
    (body,) = session.bodies()
    text = messages_text(body)
    assert "/mcp__my_server__greet 'Ada Lovelace'" in text, "the prompt stays as it was typed"
    assert text.count("Greet Ada Lovelace kindly.") == 1
    assert "The user called the prompt /mcp__my_server__greet of a server." in text


async def test_a_prompt_that_is_not_there_ends_the_turn_before_it_begins(session: ServerRun) -> None:
    result = await session.run(ONE, prompt="/mcp__my_server__nothing")  # type: ignore[no-untyped-call]
    assert result.reason is EndReason.TURN_SETUP_FAILED
    assert result.detail == "No server offers the prompt '/mcp__my_server__nothing'."
    assert session.bodies() == []


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("/mcp__a__b", ("/mcp__a__b", ())),
        ("/mcp__a__b one 'two three'", ("/mcp__a__b", ("one", "two three"))),
        ("/mcp__a__b it's", ("/mcp__a__b", ("it's",))),
        ("see /mcp__a__b", None),
        ("/other", None),
    ],
)
def test_what_was_typed_is_cut_into_words(typed: str, found: object) -> None:
    assert split_call(typed) == found
