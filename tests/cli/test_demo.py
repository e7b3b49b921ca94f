"""`compositor demo`: a whole turn without a key, and what it does with a project of one's own."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import GREETER, run_program, snapshot


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo prints, in an empty folder with an empty home."""
    home = tmp_path_factory.mktemp("home")
    before = snapshot(GREETER)
    ended = run_program("demo", cwd=home, home=home)
    assert (ended.code, ended.err) == (0, "")
    assert snapshot(GREETER) == before
    return ended.out, home


def test_it_shows_a_whole_turn(shown: tuple[str, Path]) -> None:
    out, _ = shown
    assert out.startswith("A script plays the model; no model is called.")
    assert out.endswith("No model was called.\n")
    requests = re.split(r"^── request \d ─+$", out, flags=re.MULTILINE)[1:]
    assert len(requests) == 4
    for request in requests:
        assert re.search(r"^tools +\d+ +[\d,]+ +\d+%$", request, re.MULTILINE)
        assert re.search(
            r"^tokens reported: [\d,]+ in \(cache read [\d,]+, written [\d,]+, new 0\)", request, re.MULTILINE
        )
        assert "marker 5m at system[0]: end of the static system block" in request
    assert re.findall(r"^✓ (\w+)\(", out, re.MULTILINE) == ["Read", "Read", "Read", "Edit", "Edit", "Bash"]
    assert "✗" not in out


@pytest.mark.req("R297", "R302", "R303", "R305", "R296")
def test_what_a_formatter_changed_behind_an_edit_is_told_once_and_nothing_else(shown: tuple[str, Path]) -> None:
    """Read, edit 3000 to 4000, a formatter changes quotes: exactly one note, with the formatter's difference only."""
    out, _ = shown
    assert out.count("+ edited_text_file") == 1
    folder = re.search(r"^requests: +(.+)$", out, re.MULTILINE)
    assert folder is not None
    bodies = [body.read_text("utf-8") for body in sorted(Path(folder[1]).iterdir())]
    said = "was changed by somebody else since you saw it"
    assert [body.count(said) for body in bodies] == [0, 0, 1, 1]
    texts = [text for text in strings(json.loads(bodies[2])) if said in text]
    assert len(texts) == 1
    changed = [line for line in texts[0].split("\n") if line[:1] in "+-" and line]
    assert sorted(changed) == sorted(
        ["-HOST = 'localhost'", "-GREETING = 'Hello'", '+HOST = "localhost"', '+GREETING = "Hello"']
    )
    assert "3000" not in texts[0]


def strings(value: Any) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in strings(one)]


def test_the_cache_is_read_from_the_second_request_on(shown: tuple[str, Path]) -> None:
    reads = [
        int(read.replace(",", ""))
        for read in re.findall(r"^tokens reported: .*cache read ([\d,]+)", shown[0], re.MULTILINE)
    ]
    assert reads[0] == 0
    assert reads[1:] == sorted(reads[1:])
    assert reads[1] > 1000


def test_the_files_it_names_are_there(shown: tuple[str, Path]) -> None:
    out, home = shown
    transcript = re.search(r"^transcript: (.+)$", out, re.MULTILINE)
    folder = re.search(r"^requests: +(.+)$", out, re.MULTILINE)
    assert transcript is not None
    assert folder is not None
    assert json.loads(Path(transcript[1]).read_text("utf-8").splitlines()[0])["type"] == "session"
    bodies = sorted(Path(folder[1]).iterdir())
    assert [body.name for body in bodies] == ["001.json", "002.json", "003.json", "004.json"]
    ended = run_program("check", *map(str, bodies), cwd=home, home=home)
    assert (ended.code, ended.out) == (0, "4 bodies checked: 0 errors, 0 warnings.\n")


def test_the_command_it_recommends_works(shown: tuple[str, Path]) -> None:
    out, home = shown
    line = re.search(r"^explain: +compositor (.+)$", out, re.MULTILINE)
    assert line is not None
    ended = run_program(*shlex.split(line[1]), cwd=home, home=home)
    assert ended.code == 0
    assert "The bytes are those that were sent" in ended.out


def test_the_fault_was_really_mended(shown: tuple[str, Path]) -> None:
    copy = re.search(r"Project \(a copy\): (.+)$", shown[0], re.MULTILINE)
    assert copy is not None
    assert 'return f"Hello, {name.strip()}!"' in Path(copy[1], "greeter.py").read_text("utf-8")


def test_a_project_of_ones_own_without_a_key_is_explained(call: Any, project: Path, home: Path) -> None:
    before = snapshot(project)
    ended = call("demo", "--project", str(project), "--prompt", "do it")
    assert ended.code == 0
    assert re.search(r"memory CLAUDE\.md", ended.out)
    assert ended.out.endswith("Nothing was sent: for a real turn set ANTHROPIC_API_KEY and give a prompt.\n")
    assert (snapshot(project), list(home.iterdir())) == (before, [])


def test_the_makefile_reaches_it_by_variables(call: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPOSITOR_DEMO_PROJECT", str(project))
    monkeypatch.setenv("COMPOSITOR_DEMO_PROMPT", "--help")
    ended = call("demo")
    assert (ended.code, "Usage:" in ended.out) == (0, False)
