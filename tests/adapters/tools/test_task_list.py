"""Lists of tasks: what a person sees, what waits for what, and what survives the process."""

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from compositor.adapters.tools.task_list import TaskList, task_tools
from compositor.types.json import raw_json
from compositor.types.tools import OutcomeKind, ToolCall


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.json"


def use(tasks: TaskList, scope: Any, name: str, **fields: Any):
    tool = next(tool for tool in task_tools(tasks) if tool.definition.name == name)
    return anyio.run(tool.run, ToolCall(id="t", name=name, input=raw_json(fields)), scope)


def test_tasks_are_added_changed_and_listed(session: Any, file: Path) -> None:
    tasks = TaskList(file)
    for subject in ("Build", "Test"):
        use(tasks, session.scope, "TaskCreate", subject=subject, description=f"{subject} it all")
    use(tasks, session.scope, "TaskUpdate", taskId="2", addBlockedBy=["1"], owner="me", metadata={"a": 1})
    use(tasks, session.scope, "TaskUpdate", taskId="1", status="in_progress")
    listed = use(tasks, session.scope, "TaskList").content
    assert listed == "[>] 1: Build\n[ ] 2: Test (me) [waits for 1]"
    use(tasks, session.scope, "TaskUpdate", taskId="1", status="completed")
    assert use(tasks, session.scope, "TaskList").content == "[x] 1: Build\n[ ] 2: Test (me)"
    assert '"a":1' in use(tasks, session.scope, "TaskGet", taskId="2").content
    use(tasks, session.scope, "TaskUpdate", taskId="2", metadata={"a": None})
    assert "metadata" not in use(tasks, session.scope, "TaskGet", taskId="2").content


def test_the_list_survives_the_process_and_ids_are_never_used_twice(session: Any, file: Path) -> None:
    first = TaskList(file)
    use(first, session.scope, "TaskCreate", subject="A", description="")
    use(first, session.scope, "TaskCreate", subject="B", description="")
    assert file.stat().st_mode & 0o077 == 0
    again = TaskList(file)
    use(again, session.scope, "TaskUpdate", taskId="1", status="deleted")
    created = use(again, session.scope, "TaskCreate", subject="C", description="")
    assert "Task 3" in created.content
    assert [task.id for task in TaskList(file).all()] == ["2", "3"]


def test_tasks_never_wait_for_each_other(session: Any) -> None:
    tasks = TaskList()
    for subject in "ABC":
        use(tasks, session.scope, "TaskCreate", subject=subject, description="")
    use(tasks, session.scope, "TaskUpdate", taskId="1", addBlocks=["2"])
    use(tasks, session.scope, "TaskUpdate", taskId="2", addBlocks=["3"])
    refused = use(tasks, session.scope, "TaskUpdate", taskId="1", addBlockedBy=["3"])
    assert refused.kind is OutcomeKind.FAILED
    assert "wait for each other" in refused.content
    assert "no task '9'" in use(tasks, session.scope, "TaskUpdate", taskId="1", addBlocks=["9"]).content


def test_a_damaged_file_is_an_empty_list(session: Any, file: Path) -> None:
    file.write_text("{")
    assert TaskList(file).all() == ()


def test_todos_are_replaced_as_a_whole(session: Any) -> None:
    todos = [
        {"content": "Write", "status": "completed", "activeForm": "Writing"},
        {"content": "Check", "status": "in_progress", "activeForm": "Checking"},
    ]
    assert session.text("TodoWrite", todos=todos) == "The list has 2 tasks, 1 of them completed."
    assert session.outcome.display == "TodoWrite: Checking"
    two = [{**todo, "status": "in_progress"} for todo in todos]
    assert "one at a time" in session.text("TodoWrite", todos=two)
    found = msgspec.json.decode(bytes(session.outcome.structured))
    assert found == {"oldTodos": todos, "newTodos": two}
