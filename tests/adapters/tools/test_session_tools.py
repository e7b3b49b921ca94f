"""Questions, plan mode and worktrees: the tools that act on the session itself."""

import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from compositor.adapters.tools.ask_user import AskUserQuestionTool, NobodyAnswers, QuestionsAreTheirOwnPermission
from compositor.adapters.tools.plan_mode import EnterPlanModeTool, ExitPlanModeTool, ModeSwitch
from compositor.adapters.tools.worktree import EnterWorktreeTool, ExitWorktreeTool, WorktreeState
from compositor.ports import Permission, Question
from compositor.types.json import raw_json
from compositor.types.tools import OutcomeKind, ToolCall
from compositor.types.verdicts import PermissionMode

QUESTIONS = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}],
        "multiSelect": True,
    }
]


class Person:
    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def answer(self, question: Question) -> str | None:
        self.asked.append(question)
        return self.answers.pop(0)


def use(tool: Any, session: Any, **fields: Any):
    call = ToolCall(id="t", name=tool.definition.name, input=raw_json(fields))
    return anyio.run(tool.run, call, session.scope)


def test_questions_come_back_with_the_answers(session: Any) -> None:
    person = Person("SQLite, Postgres")
    outcome = use(AskUserQuestionTool(person), session, questions=QUESTIONS)
    assert outcome.content == "Which database?\n  SQLite, Postgres"
    assert person.asked == [
        Question(
            text="Which database?", header="Database", options=(("SQLite", "one file"), ("Postgres", "")), several=True
        )
    ]
    assert use(AskUserQuestionTool(NobodyAnswers()), session, questions=QUESTIONS).kind is OutcomeKind.FAILED


def test_a_question_needs_no_permission_of_its_own(session: Any) -> None:
    class No:
        async def ask(self, permission: Permission) -> bool:
            return False

    asker = QuestionsAreTheirOwnPermission(No())
    for name, allowed in (("AskUserQuestion", True), ("ExitPlanMode", False), ("Bash", False)):
        call = ToolCall(id="t", name=name, input=raw_json({}))
        permission = Permission(call=call, display="", reason="", suggestion=None)
        assert anyio.run(asker.ask, permission) is allowed


def test_plan_mode_goes_on_and_off_again(session: Any, tmp_path: Path) -> None:
    switch = ModeSwitch(PermissionMode.ACCEPT_EDITS)
    enter, leave = EnterPlanModeTool(switch), ExitPlanModeTool(switch, tmp_path / "home", "s")
    assert use(leave, session, plan="x").kind is OutcomeKind.FAILED
    assert use(enter, session).kind is OutcomeKind.DONE
    assert switch.mode is PermissionMode.PLAN
    assert use(enter, session).kind is OutcomeKind.FAILED
    approved = use(leave, session, plan="# Steps\n1. all of it")
    assert switch.mode is PermissionMode.ACCEPT_EDITS
    file = tmp_path / "home" / "plans" / "s.md"
    assert str(file) in approved.content
    assert file.read_text() == "# Steps\n1. all of it"
    assert file.stat().st_mode & 0o077 == 0


def test_a_session_that_began_in_plan_mode_leaves_it_for_the_default(session: Any, tmp_path: Path) -> None:
    switch = ModeSwitch(PermissionMode.PLAN)
    use(ExitPlanModeTool(switch, tmp_path, "s"), session, plan="x")
    assert switch.mode is PermissionMode.DEFAULT


@pytest.fixture
def repository(session: Any) -> Path:
    session.put("a.txt", "one\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=session.root, check=True)
    return session.root


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_worktree_is_made_used_and_removed(session: Any, repository: Path) -> None:
    state = WorktreeState(session.box.directory)
    made = use(EnterWorktreeTool(state), session, name="try")
    assert made.kind is OutcomeKind.DONE, made.content
    tree = repository / ".claude" / "worktrees" / "try"
    assert session.text("Bash", command="pwd") == str(tree)
    assert "already" in use(EnterWorktreeTool(state), session).content
    (tree / "new.txt").write_text("x")
    refused = use(ExitWorktreeTool(state), session, action="remove")
    assert "1 changed files" in refused.content
    assert use(ExitWorktreeTool(state), session, action="remove", discard_changes=True).kind is OutcomeKind.DONE
    assert not tree.exists()
    assert "worktree-try" not in git(repository, "branch")
    assert session.text("Bash", command="pwd") == str(repository)


def test_a_worktree_that_is_kept_stays(session: Any, repository: Path) -> None:
    state = WorktreeState(session.box.directory)
    use(EnterWorktreeTool(state), session, name="keep")
    assert use(ExitWorktreeTool(state), session, action="keep").kind is OutcomeKind.DONE
    assert (repository / ".claude" / "worktrees" / "keep" / "a.txt").read_text() == "one\n"
    assert "no worktree" in use(ExitWorktreeTool(state), session, action="keep").content


@pytest.mark.parametrize("name", ["../up", "a b", "-x", "a..b", "x.lock", "y" * 65])
def test_a_name_that_git_or_the_file_system_could_misread_is_refused(session: Any, repository: Path, name: str) -> None:
    assert (
        "no name for a worktree"
        in use(EnterWorktreeTool(WorktreeState(session.box.directory)), session, name=name).content
    )


def test_outside_a_repository_there_is_no_worktree(session: Any) -> None:
    assert "no git repository" in use(EnterWorktreeTool(WorktreeState(session.box.directory)), session).content
