"""Bash: output, directory, environment, limits, and that no process outlives its call."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from compositor.adapters.tools import output
from compositor.adapters.tools.bash import exit_meaning
from compositor.types.tools import OutcomeKind


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def pid_in(path: Path) -> int:
    """The process id that a command wrote to `path`."""
    for _ in range(500):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} was not written")


def test_both_streams_come_in_the_order_of_writing(session: Any) -> None:
    text = session.text("Bash", command="echo one; echo two >&2; echo three")
    assert text == "one\ntwo\nthree"
    assert session.structured == {
        "stdout": "one\ntwo\nthree\n",
        "stderr": "",
        "interrupted": False,
        "exitCode": 0,
    }
    assert session.outcome.display == "Bash(echo one; echo two >&2; echo three): 14 bytes of output"


def test_no_output_says_so(session: Any) -> None:
    assert session.text("Bash", command="true", description="Does nothing") == "(no output)"


def test_a_failure_keeps_the_output_and_the_code(session: Any) -> None:
    assert session.refusal("Bash", command="echo out; exit 3") == "out\n[Exit code 3.]"
    assert session.structured["exitCode"] == 3


@pytest.mark.parametrize(
    ("command", "code", "meaning"),
    [
        ("grep x a", 1, "no match"),
        ("/usr/bin/grep x a", 1, "no match"),
        ("cat a | grep x", 1, "no match"),
        ("true && git diff --quiet", 1, "there are differences"),
        ("diff a b", 1, "the files differ"),
        ("[ -f x ]", 1, "the condition is false"),
        ("test -f x", 1, "the condition is false"),
        ("cd src\ngrep x a\n", 1, "no match"),
        ("grep x a", 2, None),
        ("grep x a | false", 1, None),
        ("git commit", 1, None),
        ("echo 'grep", 1, None),
        ("false", 1, None),
        ("", 1, None),
    ],
)
def test_exit_code_one_of_some_programs_is_an_answer(command: str, code: int, meaning: str | None) -> None:
    assert exit_meaning(command, code) == meaning


def test_an_answer_is_no_failure(session: Any) -> None:
    assert session.text("Bash", command="grep nothing /dev/null") == "[Exit code 1: no match.]"
    assert session.structured["returnCodeInterpretation"] == "no match"


def test_the_directory_carries_over_inside_the_roots(session: Any) -> None:
    (session.root / "sub/deep").mkdir(parents=True)
    session.text("Bash", command="cd sub")
    assert session.text("Bash", command="pwd; cd deep; exit 0") == str(session.root / "sub")
    assert session.text("Bash", command="pwd") == str(session.root / "sub/deep")
    assert session.box.directory.at(session.scope) == str(session.root / "sub/deep")


def test_the_directory_is_reset_outside_the_roots(session: Any) -> None:
    (session.root / "sub").mkdir()
    session.text("Bash", command="cd sub")
    text = session.text("Bash", command="cd /; pwd")
    assert text == f"/\n[The working directory was reset to {session.root}: / is outside the project.]"
    assert session.text("Bash", command="pwd") == str(session.root)


def test_a_root_is_no_prefix_of_its_neighbors(session: Any) -> None:
    neighbor = Path(f"{session.root}-other")
    neighbor.mkdir()
    assert "was reset" in session.text("Bash", command=f"cd {neighbor}")


def test_a_directory_named_by_a_way_out_of_the_root_is_outside(session: Any) -> None:
    (session.root / "out").symlink_to("/")
    assert session.box.directory.move(f"{session.root}/out/etc", session.scope) is not None
    assert session.box.directory.move(f"{session.root}/../..", session.scope) is not None
    assert session.box.directory.at(session.scope) == str(session.root)


def test_a_directory_that_is_gone_is_left(session: Any) -> None:
    (session.root / "sub").mkdir()
    session.text("Bash", command="cd sub")
    (session.root / "sub").rmdir()
    assert session.text("Bash", command="pwd") == str(session.root)


def test_a_directory_with_a_line_break_carries_over(session: Any) -> None:
    (session.root / "a\nb 'c\"$x").mkdir()
    session.text("Bash", command="cd a*")
    assert session.text("Bash", command="pwd") == f"{session.root}/a\nb 'c\"$x"


def test_variables_and_functions_do_not_carry_over(session: Any) -> None:
    session.text("Bash", command="export KEPT=1; f() { echo f; }")
    assert session.text("Bash", command="echo [$KEPT]; type f 2>/dev/null || echo gone") == "[]\ngone"


def test_standard_input_is_empty(session: Any) -> None:
    assert session.text("Bash", command="cat; read -r line || echo ended") == "ended"


def test_secrets_and_start_files_stay_out(session: Any) -> None:
    start = session.put("start.sh", "echo started\n")
    session.scope.env.update(
        {
            "ANTHROPIC_API_KEY": "s1",
            "ANTHROPIC_AUTH_TOKEN": "s2",
            "GITHUB_TOKEN": "s3",
            "AWS_SECRET_ACCESS_KEY": "s4",
            "DB_PASSWORD": "s5",
            "my_api_key": "s6",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "s7",
            "BASH_ENV": str(start),
            "ENV": str(start),
            "BASH_FUNC_ls%%": "() { echo taken over; }",
            "SSH_AUTH_SOCK": "/kept",
            "MAX_TOKENS": "5",
        }
    )
    session.put("bashrc", "x")
    text = session.text("Bash", command="env; ls bashrc")
    assert "started" not in text
    assert "taken over" not in text
    assert not any(f"=s{number}" in text for number in range(1, 8))
    assert "SSH_AUTH_SOCK=/kept" in text
    assert "MAX_TOKENS=5" in text
    assert "GIT_EDITOR=true" in text


def test_terminal_control_and_damage_stay_out(session: Any) -> None:
    command = r"printf 'a\e[1;31mb\e[0m\e]0;title\ac\r\nd\re\0\x07\xfff\xc3'"
    assert session.text("Bash", command=command) == "abc\nd\ne\ufffdf\ufffd"


def test_a_long_output_is_kept_whole_and_shown_in_part(session: Any) -> None:
    text = session.text("Bash", command="seq 1 100000")
    path = Path(session.structured["persistedOutputPath"])
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    assert path.read_text() == whole
    assert path.parent == session.output
    assert path.stat().st_mode & 0o077 == 0
    assert session.structured["persistedOutputSize"] == len(whole)
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("\n99999\n100000")
    assert f"[Output of {len(whole):,} bytes, cut in the middle. All of it is in {path}:" in text
    assert len(text) < 9_000


@pytest.mark.parametrize(("count", "is_kept"), [(30_000, False), (30_001, True)])
def test_the_limit_counts_characters(session: Any, count: int, is_kept: bool) -> None:
    text = session.text("Bash", command=f"printf 'é%.0s' $(seq {count})")
    assert ("persistedOutputPath" in session.structured) is is_kept
    assert "\ufffd" not in text
    assert (text == "é" * count) is not is_kept


def test_a_cut_falls_between_characters(session: Any) -> None:
    text = session.text("Bash", command="printf 'x'; printf '€%.0s' $(seq 100000)")
    assert "\ufffd" not in text
    assert text.startswith("x€")


def test_a_failure_with_a_long_output_shows_its_end(session: Any) -> None:
    assert session.refusal("Bash", command="seq 1 100000; exit 2").endswith("99999\n100000\n[Exit code 2.]")


def test_a_file_of_output_has_a_limit_and_says_so(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "FILE_BYTES", 300_000)
    text = session.text("Bash", command="seq 1 100000")
    assert Path(session.structured["persistedOutputPath"]).stat().st_size == 300_000
    assert "Its first 300,000 bytes are in" in text
    assert text.endswith("100000")


def test_a_command_that_writes_without_end_is_killed(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "KILL_BYTES", 1_000_000)
    message = session.refusal("Bash", command="yes")
    assert message.endswith("[The command was killed: it wrote too much output.]")
    assert session.structured["interrupted"] is True


def test_a_timeout_keeps_the_output_and_kills_the_command(session: Any) -> None:
    message = session.refusal("Bash", command="echo begun; sleep 60", timeout=300)
    assert message == "begun\n[The command was killed: it ran longer than 0.3 s.]"
    assert session.structured["interrupted"] is True
    assert session.structured["timedOutAfterMs"] == 300


@pytest.mark.parametrize(
    "start",
    [
        "sleep 60 &",
        "(sleep 60 &);",
        "timeout 60 sleep 60 &",
        "set -m; sleep 60 &",
        "setsid sleep 60 &",
        "nohup sleep 60 >/dev/null 2>&1 & disown;",
        "(trap '' TERM HUP INT; sleep 60; true) &",
    ],
)
def test_a_timeout_kills_grandchildren_too(session: Any, start: str) -> None:
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(session.use, "Bash", command=f"{start} sleep 50", timeout=700)
        while b"sleep\x0060\x00" not in working_in(session.root):
            assert not ended.done(), "the grandchild was never seen"
        assert ended.result().kind is OutcomeKind.FAILED
    assert working_in(session.root) == []


def working_in(folder: Path) -> list[bytes]:
    """The command lines of living processes whose working directory is `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder and is_running(int(entry.name)):
                found.append((entry / "cmdline").read_bytes())
        except OSError:
            continue
    return found


def test_what_is_left_running_is_ended_with_a_note(session: Any) -> None:
    text = session.text("Bash", command="sleep 60 & echo $! >pid; echo started")
    assert text == "started\n[Processes that the command left running were ended.]"
    assert not is_running(pid_in(session.root / "pid"))


def test_a_cancelled_call_leaves_no_process(session: Any) -> None:
    command = "sleep 60 & echo $! >child; echo $$ >shell.part; mv shell.part shell; trap '' TERM; wait"

    async def cancelled() -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(session.box["Bash"].run, session.call("Bash", command=command), session.scope)
                while not (session.root / "shell").exists():  # noqa: ASYNC110  # a file has no event
                    await anyio.sleep(0.01)
                scope.cancel()
        return scope.cancelled_caught

    anyio.run(cancelled)
    assert not is_running(pid_in(session.root / "shell"))
    assert not is_running(pid_in(session.root / "child"))
    assert session.text("Bash", command="echo next") == "next"


def test_a_shell_killed_from_outside_is_a_failure(session: Any) -> None:
    assert session.refusal("Bash", command="echo a; kill -9 $$") == "a\n[The shell was killed by signal 9.]"


def test_a_syntax_error_names_its_own_line(session: Any) -> None:
    message = session.refusal("Bash", command="echo a\nif then\n")
    assert "line 2: syntax error" in message
    assert message.endswith("[Exit code 2.]")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"command": "echo \0"}, "NUL"),
        ({"command": "echo " + "x" * 120_000}, "Write it to a file and run that"),
        ({"command": "true", "timeout": 0}, "between 1 and 600000"),
        ({"command": "true", "timeout": 600_001}, "between 1 and 600000"),
        ({"command": "true", "run_in_background": "yes"}, "not valid"),
        ({"command": "true", "run_in_background": True, "timeout": 7_200_001}, "between 1 and 7200000"),
        ({"command": ["true"]}, "not valid"),
        ({}, "not valid"),
    ],
)
def test_bad_inputs_are_refused(session: Any, fields: dict[str, Any], words: str) -> None:
    assert words in session.refusal("Bash", **fields)


def test_a_long_command_runs(session: Any) -> None:
    assert session.text("Bash", command="true '" + "x" * 90_000 + "'; echo ok") == "ok"


def test_comments_and_here_documents_work(session: Any) -> None:
    assert session.text("Bash", command="cat <<'END'\n$x\nEND\n# done") == "$x"


def test_bash_names_no_paths(session: Any) -> None:
    assert session.paths("Bash", command="cat /etc/passwd") == ()


def test_the_folder_for_outputs_stays_clean(session: Any) -> None:
    session.text("Bash", command="echo short")
    assert list(session.output.iterdir()) == []


def test_a_folder_that_is_gone_is_a_failure(session: Any) -> None:
    session.root.rmdir()
    assert "The command could not be run in" in session.refusal("Bash", command="true")
    assert session.outcome.kind is OutcomeKind.FAILED
