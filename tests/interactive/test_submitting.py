"""What a typed line means."""

import pytest

from compositor.interactive.pastes import Submission
from compositor.interactive.rows import ROWS, TABLE
from compositor.interactive.submitting import Command, ShellLine, Typed, Unknown, read_typed

CASES: list[tuple[str, Typed]] = [
    ("/compact the tests", Command(name="compact", argument="the tests")),
    ("  /help  ", Command(name="help")),
    ("!ls -l", ShellLine("ls -l")),
    ("/contxt", Unknown("contxt", "context")),
    ("/zzz", Unknown("zzz", "")),
]
PROMPTS = ["fix it", "/etc/hosts is wrong", "/review the change", "!", "/", "/ help", "a /help", "/x\ny"]


@pytest.mark.parametrize(("line", "meaning"), CASES)
def test_commands_and_shell_lines(line: str, meaning: Typed) -> None:
    assert read_typed(Submission(typed=line, text=line), TABLE, {"review"}) == meaning


@pytest.mark.parametrize("line", PROMPTS)
def test_everything_else_is_a_prompt_as_it_was_typed(line: str) -> None:
    submission = Submission(typed=line, text=line)
    assert read_typed(submission, TABLE, {"review"}) is submission


def test_every_command_that_was_promised_is_there() -> None:
    wanted = (
        "help clear compact context cost memory model permissions resume rewind hooks mcp skills agents tasks status export "
        "explain doctor init plan quit"
    )
    assert {row.name for row in ROWS} == set(wanted.split())
