"""Git on real repositories: its states, and repositories that would run programs if they could."""

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from compositor.adapters.git import GitFacts, read_git
from compositor.types.diagnostics import Severity


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def repository_in(folder: Path, commits: int = 1) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for number in range(commits):
        (folder / "file.txt").write_text(f"{number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"commit {number}")
    return folder


def ask(folder: Path, **changes: str) -> GitFacts:
    return read_git(str(folder), {**os.environ, **changes})


@pytest.mark.req("R099")
def test_branch_status_and_recent_commits(tmp_path: Path) -> None:
    folder = repository_in(tmp_path / "r", commits=7)
    git(folder, "switch", "-q", "-c", "feature/x")
    (folder / "file.txt").write_text("changed\n")
    (folder / "neü \n.txt").write_text("")
    facts = ask(folder)
    assert (facts.root, facts.main_checkout, facts.diagnostics) == (str(folder), None, ())
    assert facts.status is not None
    assert (facts.status.branch, facts.status.main_branch) == ("feature/x", "main")
    assert facts.status.status == (" M file.txt", r'?? "neü \n.txt"')
    assert [commit.split(" ", 1)[1] for commit in facts.status.commits] == [f"commit {n}" for n in (6, 5, 4, 3, 2)]


def test_a_subfolder_belongs_to_its_repository(tmp_path: Path) -> None:
    folder = repository_in(tmp_path / "r")
    (folder / "sub").mkdir()
    assert ask(folder / "sub").root == str(folder)


def test_states_without_a_branch_or_a_commit(tmp_path: Path) -> None:
    empty = ask(repository_in(tmp_path / "empty", commits=0)).status
    assert empty is not None
    assert (empty.branch, empty.head, empty.commits, empty.main_branch) == ("main", "", (), "")
    detached = repository_in(tmp_path / "detached")
    git(detached, "checkout", "-q", "--detach")
    status = ask(detached).status
    assert status is not None
    assert (status.branch, status.head, status.main_branch) == (
        "",
        git(detached, "rev-parse", "--short", "HEAD").strip(),
        "main",
    )


def test_the_remote_says_which_branch_is_the_main_one(tmp_path: Path) -> None:
    origin = repository_in(tmp_path / "origin")
    git(origin, "branch", "-m", "trunk")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    git(tmp_path / "clone", "branch", "master")
    status = ask(tmp_path / "clone").status
    assert status is not None
    assert status.main_branch == "trunk"


def test_a_linked_worktree_knows_its_main_checkout(tmp_path: Path) -> None:
    folder = repository_in(tmp_path / "r")
    git(folder, "worktree", "add", "-q", "trees/one")
    facts = ask(folder / "trees/one")
    assert (facts.root, facts.main_checkout) == (str(folder / "trees/one"), str(folder))
    assert ask(folder).main_checkout is None


def test_a_worktree_of_a_bare_repository_has_no_main_checkout(tmp_path: Path) -> None:
    repository_in(tmp_path / "r")
    git(tmp_path, "clone", "-q", "--bare", "r", "fleet/.git")
    git(tmp_path / "fleet", "worktree", "add", "-q", "child", "main")
    facts = ask(tmp_path / "fleet/child")
    assert (facts.root, facts.main_checkout) == (str(tmp_path / "fleet/child"), None)


@pytest.mark.req("R096")
def test_no_repository_no_git_and_no_folder_are_told_and_stop_nothing(tmp_path: Path) -> None:
    outside = ask(tmp_path)
    assert (outside.root, outside.status) == (None, None)
    assert [(d.code, d.severity) for d in outside.diagnostics] == [("git.absent", Severity.INFO)]
    without = ask(repository_in(tmp_path / "r"), PATH="/nonexistent")
    assert [(d.code, d.severity) for d in without.diagnostics] == [("git.absent", Severity.WARNING)]
    assert "not installed" in without.diagnostics[0].message
    assert ask(tmp_path / "gone").status is None
    (tmp_path / "broken/.git").mkdir(parents=True)
    (tmp_path / "broken/.git/config").write_text("[broken")
    assert ask(tmp_path / "broken").status is None


def test_variables_that_point_at_another_repository_do_not_count(tmp_path: Path) -> None:
    other = repository_in(tmp_path / "other")
    folder = repository_in(tmp_path / "r")
    facts = ask(folder, GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other), GIT_INDEX_FILE="/dev/null")
    assert facts.root == str(folder)


def program(path: Path, mark: Path) -> str:
    """A program that leaves a mark when anybody runs it."""
    path.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def hostile_repository(folder: Path, evil: str) -> None:
    """A repository whose configuration names `evil` wherever git would run it for a status or a log."""
    repository_in(folder)
    (folder / ".gitattributes").write_text("* filter=x diff=x\n")
    hooks = folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / name).symlink_to(evil)
    settings = {
        "core.fsmonitor": evil,
        "core.hooksPath": str(hooks),
        "core.pager": evil,
        "core.sshCommand": evil,
        "core.editor": evil,
        "core.askPass": evil,
        "credential.helper": f"!{evil}",
        "diff.external": evil,
        "diff.x.textconv": evil,
        "diff.x.command": evil,
        "filter.x.clean": evil,
        "filter.x.process": evil,
        "filter.x.required": "true",
        "gpg.program": evil,
        "log.showSignature": "true",
        "status.submoduleSummary": "true",
        "pager.status": evil,
        "pager.log": evil,
        "alias.status": f"!{evil}",
    }
    for name, value in settings.items():
        git(folder, "config", name, value)
    (folder / "file.txt").write_text("9\n")  # the same size as before: git must look at the content
    os.utime(folder / "file.txt", ns=(1, 1))


def test_a_hostile_repository_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = program(tmp_path / "evil.sh", mark)
    folder = tmp_path / "r"
    hostile_repository(folder, evil)
    facts = ask(folder)
    assert not mark.exists()
    assert facts.status is not None
    assert " M file.txt" in facts.status.status
    # The fixture is worth something only if git, left alone, does run the program.
    subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True, stdin=subprocess.DEVNULL)
    assert mark.exists()


def test_a_hostile_submodule_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = program(tmp_path / "evil.sh", mark)
    repository_in(tmp_path / "library")
    folder = repository_in(tmp_path / "r")
    git(folder, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    git(folder / "lib", "config", "core.fsmonitor", evil)
    git(folder / "lib", "config", "filter.x.clean", evil)
    (folder / "lib/.gitattributes").write_text("* filter=x\n")
    (folder / "lib/file.txt").write_text("9\n")
    assert ask(folder).status is not None
    assert not mark.exists()


def test_a_missing_object_fetches_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = program(tmp_path / "evil.sh", mark)
    folder = repository_in(tmp_path / "r", commits=2)
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(tmp_path),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": evil,
    }.items():
        git(folder, "config", name, value)
    parent = git(folder, "rev-parse", "HEAD~1").strip()
    (folder / ".git/objects" / parent[:2] / parent[2:]).unlink()
    facts = ask(folder)
    assert facts.root == str(folder)
    assert not mark.exists()


def test_a_git_that_hangs_is_stopped_with_its_children(tmp_path: Path) -> None:
    folder = repository_in(tmp_path / "r")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text(f"#!/bin/sh\n/bin/sleep 60 & echo $! >>'{tmp_path}/child'\nwait\n")
    (tools / "git").chmod(0o755)
    start = time.monotonic()
    facts = read_git(str(folder), {"PATH": f"{tools}:{os.environ['PATH']}"}, timeout=0.5)
    assert time.monotonic() - start < 20
    assert "took too long" in facts.diagnostics[0].message
    child = int((tmp_path / "child").read_text())
    assert not is_alive(child)


def is_alive(process: int) -> bool:
    """Whether it runs: an orphan that was killed may stay as a zombie until somebody reaps it."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_a_git_status_takes_no_lock(tmp_path: Path) -> None:
    folder = repository_in(tmp_path / "r")
    os.utime(folder / "file.txt", ns=(1, 1))
    index = (folder / ".git/index").read_bytes()
    assert ask(folder).status is not None
    assert (folder / ".git/index").read_bytes() == index
