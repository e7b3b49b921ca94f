"""The door of the program: commands and their help, how an error ends it, what becomes of its streams."""

import errno
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from compositor._version import __version__
from compositor.cli.main import COMMANDS, run_command
from compositor.errors import ExitCode, ProviderUnavailableError, UsageError
from tests.cli.program import HELLO, command_line, environment, records, run_program, script
from tests.house.tree import ROOT


def raising(problem: BaseException) -> click.Command:
    @click.command()
    def command() -> None:
        raise problem

    return command


@pytest.mark.parametrize("name", [*COMMANDS, ""])
def test_every_command_explains_itself(call: Any, name: str) -> None:
    ended = call(*([name] if name else []), "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: compositor {name}".rstrip())
    assert "\\b" not in ended.out  # a mark for the formatter, never for the reader


def test_the_examples_of_the_help_stand_one_a_line(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("--help").out.splitlines()
    assert '    compositor explain "fix it"             who put what into it, and why' in lines
    assert max(map(len, lines)) <= 80


def test_the_version(call: Any) -> None:
    assert call("--version") == (0, f"compositor, version {__version__}\n", "")


def test_an_unknown_command(call: Any) -> None:
    ended = call("nosuch")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("Error: No such command 'nosuch'.\n")


@pytest.mark.parametrize(
    ("problem", "code", "sentence"),
    [
        (UsageError("this is wrong", hint="do that"), 2, "Error: this is wrong. do that.\n"),
        (ProviderUnavailableError("it is away"), 4, "Error: it is away.\n"),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 1, "Error: No space left on device. At /x.\n"),
        (OSError(errno.EIO, "Input/output error"), 1, "Error: Input/output error.\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (click.exceptions.Abort(), 130, "Interrupted.\n"),
    ],
)
def test_how_an_error_ends_a_command(
    problem: BaseException, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(raising(problem), []) == code
    shown = capsys.readouterr()
    assert (shown.out, shown.err.strip()) == ("", sentence.strip())


def test_an_error_of_our_own_making_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run_command(raising(ZeroDivisionError()), [])


def test_the_page_has_every_exit_code() -> None:
    text = (ROOT / "docs/reference/commands.md").read_text("utf-8")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)] == [code.value for code in ExitCode]


CLOSED_OUT, CLOSED_IN, CLOSED_ERR = ("sh", "-c", 'exec "$@" >&-', "sh"), ("sh", "-c", 'exec "$@" <&-', "sh"), ("sh", "-c", 'exec "$@" 2>&-', "sh")  # fmt: skip


@pytest.mark.parametrize(
    ("before", "arguments", "code"),
    [
        (CLOSED_OUT, ("compile", "x", "--body"), 0),
        (CLOSED_OUT, ("explain", "x"), 0),
        (CLOSED_IN, ("run", "x"), 3),
        (CLOSED_IN, ("run",), 2),
        (CLOSED_IN, ("compile", "-"), 0),
        (CLOSED_ERR, ("run", "x"), 3),
    ],
)
def test_a_closed_stream_is_an_empty_one(
    before: tuple[str, ...], arguments: tuple[str, ...], code: int, home: Path, project: Path
) -> None:
    ended = run_program(*arguments, cwd=project, home=home, before=before)
    assert ended.code == code
    assert "Traceback" not in ended.err


def test_no_file_of_ours_takes_the_place_of_a_closed_stream(home: Path, project: Path) -> None:
    """Else a tool's process, which inherits descriptor 1, would write into the transcript."""
    (project / "talk.py").write_text(
        "import os\nfor number in range(20):\n    try: os.write(number, b'talk')\n    except OSError: pass\n"
    )
    played = script(home, {"do": [{"run": "python3 talk.py"}]}, HELLO)
    allowed = ("--allowed-tools", "Bash(python3 talk.py)")
    ended = run_program("run", "x", "--offline", played, *allowed, cwd=project, home=home, before=CLOSED_OUT)
    assert (ended.code, "✓ Bash(python3 talk.py)" in ended.err) == (0, True)
    ((_, *lines),) = records(home)
    assert {line["type"] for line in lines} == {"user", "assistant", "send", "outcome"}


@pytest.mark.parametrize(
    "arguments", [("compile", "x"), ("compile", "x", "--body"), ("explain", "x", "--json"), ("--help",)]
)
def test_a_full_disk_is_one_sentence(arguments: tuple[str, ...], home: Path, project: Path) -> None:
    ended = run_program(*arguments, cwd=project, home=home, before=("sh", "-c", 'exec "$@" >/dev/full', "sh"))
    assert (ended.code, ended.err) == (1, "Error: No space left on device.\n")


@pytest.mark.parametrize("arguments", [("compile", "x"), ("compile", "x", "--json"), ("explain", "x"), ("--help",)])
def test_a_reader_that_went_away_is_no_complaint(arguments: tuple[str, ...], home: Path, project: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        command_line(*arguments),
        cwd=project,
        env=environment(home),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict"])
def test_a_terminal_that_cannot_say_a_character_stops_nothing(encoding: str, home: Path, project: Path) -> None:
    odd = project / "od\udce9"
    odd.mkdir()
    (odd / "CLAUDE.md").write_text("odd", "utf-8")
    played = script(home, HELLO)
    ended = run_program("run", "x", "--offline", played, cwd=odd, home=home, PYTHONIOENCODING=encoding)
    assert (ended.code, "Traceback" in ended.err) == (0, False)
    assert ended.out.startswith("Hello ")


def test_json_is_utf8_whatever_the_terminal_speaks(home: Path, project: Path) -> None:
    played = script(home, HELLO)
    ended = run_program(
        *("run", "x", "--offline", played, "--output-format", "json"),
        cwd=project,
        home=home,
        PYTHONIOENCODING="latin-1",
    )
    assert json.loads(ended.out)["result"] == "Hello 👋."


def test_no_color_and_no_cursor_movement_in_a_pipe(home: Path, project: Path) -> None:
    played = script(home, HELLO)
    run_program("run", "x", "--offline", played, cwd=project, home=home)
    for arguments in (("sessions", "--all"), ("explain", "x"), ("doctor",), ("demo",)):
        ended = run_program(*arguments, cwd=project, home=home)
        assert "\x1b" not in ended.out + ended.err


def test_a_signal_before_the_turn_leaves_nothing_behind(home: Path, project: Path) -> None:
    """While standard input is read: nothing has been opened yet."""
    process = subprocess.Popen(
        command_line("run"), cwd=project, env=environment(home), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    _wait_for_sleep(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors.decode().strip()) == (130, "Interrupted.")
    assert not (home / "state").exists()


def _wait_for_sleep(pid: int) -> None:
    """Wait until the process waits in a read of its pipe."""
    import time

    for _ in range(400):
        if "pipe_read" in Path(f"/proc/{pid}/wchan").read_text() or _reads_pipe(pid):
            return
        time.sleep(0.05)


def _reads_pipe(pid: int) -> bool:
    """System call 0, a read, on descriptor 0."""
    return Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 ")
