"""The interactive prompt in a real terminal, against a server on this machine that plays the model: what a person types and sees."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.program import GREETER, records
from tests.edges.terminal import Terminal
from tests.edges.test_cli_loopback import Service

pytestmark = [pytest.mark.edges, pytest.mark.timeout(180)]

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
READY = "/help lists"
EDIT = {
    "edit": {"path": "greeter.py", "old": 'return f"Hello, {name.strip()}"', "new": 'return f"Hello, {name.strip()}!"'}
}
READ = {"read": "greeter.py"}
SLOW = {"slow": 0.15}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GREETER, tmp_path / "greeter", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def begin(home: Path, project: Path) -> Iterator[Any]:
    """Start the program against a model that says `turns`."""
    opened: list[Any] = []

    def started(*turns: dict[str, Any], arguments: tuple[str, ...] = (), **changes: Any) -> tuple[Terminal, Service]:
        service = Service(*turns)
        service.__enter__()
        opened.append(service)
        terminal = Terminal(*arguments, cwd=project, home=home, **{**service.environment(), **changes})
        opened.append(terminal)
        terminal.until(is_ready, "the prompt")
        return terminal, service

    yield started
    for one in reversed(opened):
        one.__exit__(None, None, None)


def is_ready(shown: str) -> bool:
    """Whether the line can be typed: what is typed before is echoed by the terminal itself."""
    return READY in shown and any(line in {">", "prompt:"} for line in shown.split("\n"))


def keep_picture(terminal: Terminal, name: str, title: str) -> None:
    """A picture of the docs; written where it is asked for, so that an ordinary run changes no file."""
    picture = terminal.picture(title)
    assert picture.startswith("<svg")
    if os.environ.get("KEEP_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        own = re.sub(r"/tmp/[^ <]*/greeter", "/home/ada/greeter", picture)
        (PICTURES / f"{name}.svg").write_text(re.sub(r"\b[0-9a-f]{8}(?=<| \()", "1f0c9a3e", own))


def texts(body: bytes) -> str:
    return json.dumps(json.loads(body)["messages"], ensure_ascii=False)


def test_streaming_then_a_permission_with_its_difference(begin: Any, project: Path) -> None:
    terminal, service = begin(
        {"say": "# Plan\n\nI **look** first:\n\n- the code\n- its tests\n", "do": [READ]},
        {"say": "I add the mark.", "do": [EDIT]},
        {"say": "Done: `greet` ends every greeting with a mark."},
        rows=34,
    )
    terminal.enter("fix the greeting")
    terminal.until("[y] yes, once")
    shown = terminal.until(lambda text: "greet_all" in text and "[y] yes, once" in text, "the whole difference")
    assert "• the code" in shown
    assert "**" not in shown
    assert '8 -     return f"Hello, {name.strip()}"' in shown
    assert '8 +     return f"Hello, {name.strip()}!"' in shown
    assert "{name.strip()}!" not in (project / "greeter.py").read_text()
    keep_picture(terminal, "permission", "compositor: a change is asked for")
    terminal.type("y")
    terminal.until("Done: greet ends")
    terminal.until("3 requests;")
    assert "{name.strip()}!" in (project / "greeter.py").read_text()
    assert len(service.bodies) == 3
    keep_picture(terminal, "turn", "compositor: a turn")
    terminal.enter("/quit")
    assert terminal.ended() == 0


def test_an_unfinished_answer_is_seen_while_it_arrives(begin: Any) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    terminal, _ = begin({"say": words, "faults": [SLOW]})
    terminal.enter("talk")
    terminal.until(lambda shown: "word3" in shown and "word59" not in shown, "a part of the answer")
    assert "word0 " in terminal.until("word59")


def test_a_refusal_and_the_answer_for_the_session(begin: Any, project: Path) -> None:
    run = {"run": "touch made"}
    terminal, _service = begin(
        {"do": [run]},
        {"say": "first over"},
        {"do": [run]},
        {"say": "second over"},
        {"do": [run]},
        {"say": "third over"},
    )
    terminal.enter("one")
    terminal.until("[n] no")
    assert "[a] yes, always here: Bash(touch made)" in terminal.text()
    terminal.type("n")
    terminal.until("first over")
    assert not (project / "made").exists()
    terminal.enter("two")
    terminal.until("[n] no")
    terminal.type("s")
    terminal.until("second over")
    (project / "made").unlink()
    terminal.enter("three")
    terminal.until("third over")
    assert (project / "made").exists()
    terminal.enter("/permissions")
    terminal.until("Bash(touch made)  (this session)")


def test_always_saves_the_rule_that_was_shown(begin: Any, home: Path, project: Path) -> None:
    terminal, _ = begin(
        {"do": [{"run": "touch made"}]}, {"say": "over"}, {"do": [{"run": "touch made"}]}, {"say": "again over"}
    )
    terminal.enter("go")
    terminal.until("[n] no")
    terminal.type("a")
    terminal.until("2 requests")
    (saved,) = (home / "state" / "approved-rules").iterdir()
    assert json.loads(saved.read_bytes())["rules"] == ["Bash(touch made)"]
    (project / "made").unlink()
    terminal.enter("again")
    terminal.until("again over")
    assert (project / "made").exists()


def test_an_interrupt_leaves_a_history_that_goes_on(begin: Any, home: Path) -> None:
    long = " ".join(f"word{number}" for number in range(200))
    terminal, service = begin({"say": long, "faults": [SLOW]}, {"say": "Yes, here."})
    terminal.enter("talk")
    terminal.until("word2")
    terminal.type("\x03")
    terminal.until("Interrupted.")
    terminal.enter("still there?")
    terminal.until("Yes, here.")
    said = [message["role"] for message in json.loads(service.bodies[-1])["messages"]]
    assert said[0] == "user"
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert records(home)


def test_what_is_typed_meanwhile_joins_the_turn_or_waits(begin: Any) -> None:
    terminal, service = begin(
        {"say": " ".join(f"word{number}" for number in range(40)), "do": [READ], "faults": [SLOW]},
        {"say": "I saw both."},
        {"say": "Now a turn of its own."},
    )
    terminal.enter("talk")
    terminal.until("word2")
    terminal.enter("mind the tests")
    terminal.enter("/compact the tests")
    terminal.until("2 waiting")
    terminal.until("I saw both.")
    assert "mind the tests" in texts(service.bodies[1])
    terminal.until("compacted:")
    assert "joins the turn" in terminal.text()


def test_a_compaction_and_a_resumed_session(begin: Any, home: Path) -> None:
    terminal, _service = begin({"say": "First answer."}, {"say": "A summary."}, {"say": "Second answer."})
    terminal.enter("one")
    terminal.until("First answer.")
    terminal.until("1 request")
    terminal.enter("/compact")
    terminal.until("compacted:")
    terminal.enter("two")
    terminal.until("Second answer.")
    terminal.enter("/quit")
    assert terminal.ended() == 0
    terminal, _ = begin({"say": "Third answer."}, arguments=("-c",))
    assert "Second answer." in terminal.text()


def test_resume_takes_another_session(begin: Any) -> None:
    terminal, _ = begin({"say": "Answer of the first."})
    terminal.enter("the first one")
    terminal.until("Answer of the first.")
    terminal.until("1 request")
    terminal.enter("/quit")
    terminal.ended()
    terminal, _ = begin({"say": "Answer of the second."})
    terminal.enter("/resume")
    terminal.until("Which session?")
    terminal.enter("1")
    terminal.until("goes on")
    assert "the first one" in terminal.until("Answer of the first.")


def test_rewind_brings_conversation_and_files_back(begin: Any, project: Path) -> None:
    before = (project / "greeter.py").read_text()
    terminal, service = begin(
        {"do": [READ]},
        {"do": [EDIT]},
        {"say": "Changed."},
        {"say": "Begun anew."},
        arguments=("--permission-mode", "acceptEdits"),
    )
    terminal.enter("change it")
    terminal.until("Changed.")
    terminal.until("3 requests")
    assert (project / "greeter.py").read_text() != before
    terminal.enter("/rewind")
    terminal.until("Back to before which prompt?")
    terminal.until("change it")
    terminal.enter("1")
    terminal.until("What goes back?")
    keep_picture(terminal, "rewind", "compositor: going back")
    terminal.enter("3")
    terminal.until(lambda shown: shown.count("restore  greeter.py") == 2, "the file brought back")
    terminal.until(lambda shown: shown.count(READY) == 2 and is_ready(shown), "the session opened again")
    assert (project / "greeter.py").read_text() == before
    terminal.enter("now again")
    terminal.until("Begun anew.")
    assert "change it" not in texts(service.bodies[-1])


def test_a_picture_of_the_clipboard_and_one_that_is_dropped(begin: Any, project: Path, tmp_path: Path) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(stream, "PNG")
    (tmp_path / "red.png").write_bytes(stream.getvalue())
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "wl-paste").write_text(f"#!/bin/sh\ncat {tmp_path}/red.png\n")
    (tools / "wl-paste").chmod(0o755)
    terminal, service = begin({"say": "Two red squares."}, PATH=f"{tools}:{os.environ['PATH']}")
    terminal.type("\x16")
    terminal.until("[Image #1]")
    terminal.type(" and ")
    terminal.paste(str(tmp_path / "red.png"))
    terminal.until("[Image #2]")
    terminal.enter(" what are they?")
    terminal.until("Two red squares.")
    blocks = [block for message in json.loads(service.bodies[0])["messages"] for block in message["content"]]
    assert [block["source"]["media_type"] for block in blocks if block["type"] == "image"] == ["image/png"] * 2


def test_a_long_paste_is_a_mark_and_goes_out_whole(begin: Any, home: Path) -> None:
    terminal, service = begin({"say": "Read."})
    pasted = "\n".join(f"line {number}" for number in range(40))
    terminal.paste(pasted)
    terminal.until("[Pasted #1]")
    terminal.enter(" sum it up")
    terminal.until("Read.")
    assert json.dumps(pasted)[1:-1] in texts(service.bodies[0])
    assert "line 39" not in terminal.text()
    assert "[Pasted #1]" in (home / "state" / "history.jsonl").read_text()


def test_forty_columns(begin: Any) -> None:
    terminal, _ = begin(
        {"say": "A sentence that is a good deal wider than forty columns are.", "do": [EDIT]},
        {"say": "Over."},
        columns=40,
        rows=36,
    )
    terminal.enter("fix it")
    terminal.until("[n] no")
    terminal.type("y")
    terminal.until("Over.")
    assert all(len(line) <= 40 for line in terminal.text().split("\n"))
    assert "claude-sonnet" in terminal.text()
    keep_picture(terminal, "narrow", "40 columns")


def test_no_color_and_a_screen_reader(begin: Any) -> None:
    terminal, _ = begin(
        {"say": "# Title\n\nText.", "do": [{"run": "touch made"}]},
        {"say": "Over."},
        arguments=("--screen-reader",),
        NO_COLOR="1",
    )
    terminal.enter("go")
    terminal.until("y for yes, once")
    terminal.type("n")
    terminal.until("Over.")
    assert "refused: " in terminal.text()
    assert "●" not in terminal.text()
    assert re.search(rb"\x1b\[[0-9;]*3[0-7]m", terminal.bytes) is None


def test_nothing_that_the_model_says_moves_the_cursor_or_colors_the_screen(begin: Any) -> None:
    terminal, _ = begin({"say": "before \x1b[2J\x1b[31mred\x1b]0;title\x07 after"})
    terminal.enter("go")
    terminal.until("after")
    terminal.until("1 request")
    assert b"\x1b[2J\x1b[31mred" not in terminal.bytes
    assert b"\x1b]0;title" not in terminal.bytes
    assert "> go" in terminal.text()


def test_a_shell_line_is_run_and_told(begin: Any) -> None:
    terminal, service = begin({"say": "I saw it."})
    terminal.enter("!echo from the shell")
    terminal.until(lambda shown: shown.count("from the shell") >= 2, "the output")
    terminal.enter("what did it print?")
    terminal.until("I saw it.")
    assert "The user ran this line in their own shell:" in texts(service.bodies[0])


def test_completion_commands_and_a_wrong_one(begin: Any, project: Path) -> None:
    terminal, _ = begin({"say": "x"})
    terminal.type("@gree\t")
    terminal.until("greeter.py")
    terminal.type("\x03")
    terminal.until(lambda shown: not shown.split("\n")[-1].startswith("> @"), "an empty line")
    terminal.enter("/contxt")
    terminal.until("There is no command /contxt. Did you mean /context?")
    terminal.enter("/help")
    terminal.until("Shift-Tab")
    terminal.enter("/cost")
    terminal.until("Nothing was sent in this session yet.")
    terminal.enter("hello")
    terminal.until("1 request;")
    terminal.enter("/cost")
    terminal.until("in all")
    terminal.enter("/context")
    assert "system" in terminal.until("JSON syntax")


def test_switching_the_model_shows_its_price_first(begin: Any) -> None:
    terminal, service = begin({"say": "One."}, {"say": "Two."})
    terminal.enter("hello")
    terminal.until("One.")
    terminal.until("1 request")
    terminal.enter("/model opus")
    terminal.until("tokens of the cache are not read any more")
    terminal.type("y")
    terminal.until(lambda shown: shown.count(READY) == 2 and is_ready(shown), "the session opened again")
    terminal.enter("go on")
    terminal.until("Two.")
    assert "opus" in json.loads(service.bodies[-1])["model"]


def test_sigterm_ends_it_with_everything_stored(begin: Any, home: Path) -> None:
    terminal, _ = begin({"say": " ".join(f"word{number}" for number in range(200)), "faults": [SLOW]})
    terminal.enter("talk")
    terminal.until("word2")
    os.kill(terminal.child.pid, signal.SIGTERM)
    assert terminal.ended() == 143
    (lines,) = records(home)
    assert any(line["type"] == "user" for line in lines)


def test_without_a_terminal_it_says_what_to_use(home: Path, project: Path) -> None:
    from tests.cli.program import run_program

    ended = run_program("chat", cwd=project, home=home)
    assert ended.code == 2
    assert "compositor run PROMPT" in ended.err
