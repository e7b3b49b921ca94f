"""Commands in the background: output on demand, filters, waiting for a line, ends of every kind, and nothing left behind."""

import time
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.tools.background import MAX_RUNNING, Background, State


@pytest.fixture(autouse=True)
def _ended(session: Any):
    yield
    session.box.background.close()


def started(session: Any, command: str, **fields: Any) -> str:
    session.text("Bash", command=command, run_in_background=True, **fields)
    task: str = session.structured["backgroundTaskId"]
    return task


def until_ended(session: Any, task: str) -> str:
    collected = ""
    for _ in range(100):
        collected += session.text("BashOutput", bash_id=task)
        if session.structured["status"] != "running":
            return collected
        time.sleep(0.05)
    raise AssertionError(collected)


def test_a_command_goes_on_while_the_call_has_returned(session: Any) -> None:
    begun = time.monotonic()
    task = started(session, "echo first; sleep 0.6; echo second; exit 3")
    assert time.monotonic() - begun < 0.5
    output = until_ended(session, task)
    assert output.index("first") < output.index("second")
    assert output.count("first") == 1
    assert f"[{task}: ended, exit code 3.]" in output
    assert session.structured["exitCode"] == 3


def test_all_output_stands_in_a_private_file(session: Any) -> None:
    text = session.text("Bash", command="seq 3", run_in_background=True)
    until_ended(session, session.structured["backgroundTaskId"])
    path = Path(text.rsplit(" ", 1)[1].rstrip("."))
    assert path.read_text() == "1\n2\n3\n"
    assert path.stat().st_mode & 0o077 == 0


def test_a_filter_keeps_matching_lines(session: Any) -> None:
    task = started(session, "printf 'a1\\nb2\\na3\\n'")
    time.sleep(0.4)
    shown = session.text("BashOutput", bash_id=task, filter="^a")
    assert "a1\na3\n" in shown
    assert "b2" not in shown
    assert "no regular expression" in session.refusal("BashOutput", bash_id=task, filter="(")


def test_a_character_that_arrives_in_two_pieces_is_whole(session: Any) -> None:
    task = started(session, "printf '\\xe4\\xb8'; sleep 0.4; printf '\\xad\\n'")
    time.sleep(0.2)
    first = session.text("BashOutput", bash_id=task)
    rest = until_ended(session, task)
    assert "\ufffd" not in first + rest
    assert "中" in rest


def test_stopping_ends_the_whole_session_of_the_command(session: Any) -> None:
    marker = session.root / "alive"
    task = started(session, f"(while true; do date +%s%N > {marker}; sleep 0.05; done) & wait")
    time.sleep(0.4)
    assert "was ended" in session.text("TaskStop", task_id=task)
    before = marker.read_text()
    time.sleep(0.3)
    assert marker.read_text() == before
    assert "had ended already" in session.text("TaskStop", shell_id=task)


def test_a_time_limit_ends_it(session: Any) -> None:
    task = started(session, "sleep 30", timeout=300)
    assert "timed out" in until_ended(session, task)


def test_an_unknown_task_is_told_with_the_known_ones(session: Any) -> None:
    task = started(session, "sleep 5")
    message = session.refusal("BashOutput", bash_id="bash_99")
    assert f"{task} (running)" in message


def test_a_monitor_waits_for_a_line_and_then_for_the_next(session: Any) -> None:
    shown = session.text("Monitor", command="sleep 0.3; echo one; sleep 0.6; echo two; sleep 5")
    assert "one" in shown
    assert "two" not in shown
    task = session.structured["task_id"]
    assert "two" in session.text("Monitor", task_id=task)
    assert "(no new output)" in session.text("Monitor", task_id=task, timeout_ms=200)
    assert "Give either" in session.refusal("Monitor")


def test_only_so_many_run_at_once(session: Any) -> None:
    background = Background()
    try:
        for _ in range(MAX_RUNNING):
            task = background.start(["sleep", "9"], "", cwd="/", env={}, folder=str(session.output), seconds=9)
            assert not isinstance(task, str)
        assert "running already" in str(
            background.start(["sleep", "9"], "", cwd="/", env={}, folder=str(session.output), seconds=9)
        )
    finally:
        background.close()
    assert all(task.state is State.STOPPED for task in background._tasks.values())
