"""From settings, variables and answers to the place of a run, on real folders and a real repository."""

import json
import subprocess
from pathlib import Path

import pytest

from compositor.adapters.approvals import remember_import
from compositor.adapters.git import read_git
from compositor.adapters.home import project_key
from compositor.adapters.memory_files import load_memory
from compositor.adapters.memory_places import FoundPlace, find_memory_place
from compositor.adapters.settings_files import find_places, load_settings
from compositor.config.contract import resolve_contract
from compositor.config.flags import SOURCES, Flags
from compositor.types.memory import MemoryLevel


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class World:
    """A machine: one home, one managed folder, one project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = root / "repo"
        self.repo.mkdir()
        self.environ = {
            "HOME": str(root / "home"),
            "COMPOSITOR_HOME": str(root / "state"),
            "COMPOSITOR_MANAGED_DIR": str(root / "managed"),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        }

    def find(self, cwd: Path | None = None, **flags: object) -> FoundPlace:
        start = str(cwd or self.repo)
        places = find_places(start, self.environ)
        given = Flags(**flags)  # type: ignore[arg-type]
        contract = resolve_contract(given, load_settings(places), self.environ, cwd=start)
        sources = tuple(level.value for level in SOURCES)
        return find_memory_place(contract, places, self.environ, read_git(start, self.environ), sources=sources)

    def texts(self, cwd: Path | None = None, **flags: object) -> list[str]:
        chain = load_memory(self.find(cwd, **flags).place)
        mine = [loaded for loaded in chain.files if loaded.path.startswith(str(self.root))]
        return [loaded.file.text for loaded in mine] + [index.file.text for index in chain.indexes if index.file]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.req("R111", "R114")
def test_instructions_of_managed_settings_stand_first_and_cannot_be_excluded(world: World) -> None:
    settings = {"claudeMd": "MANAGED <!-- x -->\\n\\n<!-- gone -->\\n\\n@more.md", "claudeMdExcludes": ["/**"]}
    write(world.root / "managed/managed-settings.json", json.dumps(settings).replace("\\\\n", "\\n"))
    write(world.root / "managed/more.md", "more of it")
    write(world.root / "managed/CLAUDE.md", "managed file")
    write(world.repo / "CLAUDE.md", "project")
    assert world.texts() == ["MANAGED <!-- x -->\n\n\n@more.md", "more of it", "managed file"]


def test_one_variable_stops_every_file(world: World) -> None:
    write(world.root / "managed/CLAUDE.md", "managed")
    write(world.root / "managed/managed-settings.json", json.dumps({"claudeMd": "text"}))
    write(world.repo / "CLAUDE.md", "project")
    world.environ["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] = "1"
    assert world.texts() == []


def test_an_untrusted_repository_cannot_stop_the_files_of_others(world: World) -> None:
    write(world.root / "managed/CLAUDE.md", "managed")
    write(world.repo / ".claude/settings.json", json.dumps({"env": {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}}))
    assert world.texts() == ["managed"]


def test_files_of_an_added_directory_need_the_variable_and_the_flag(world: World) -> None:
    lib = write(world.root / "lib/CLAUDE.md", "library").parent
    assert world.texts(add_dirs=(str(lib),)) == []
    world.environ["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] = "1"
    assert world.texts(add_dirs=(str(lib),)) == ["library"]
    user = {"permissions": {"additionalDirectories": [str(lib)]}}
    write(world.root / "home/.claude/settings.json", json.dumps(user))
    assert world.texts() == []


def test_agents_md_is_a_setting(world: World) -> None:
    write(world.repo / "AGENTS.md", "agents")
    assert world.texts() == ["agents"]
    write(world.root / "home/.claude/settings.json", json.dumps({"compositor": {"agentsMd": False}}))
    assert world.texts() == []


@pytest.mark.req("R138")
def test_an_answer_is_remembered_for_the_repository(world: World) -> None:
    team = write(world.root / "team.md", "team")
    write(world.repo / "CLAUDE.md", f"@{team}")
    found = load_memory(world.find().place)
    assert found.outside == (str(team),)
    assert "--allow" in found.diagnostics[-1].hint
    remember_import(world.root / "state", world.find().project, str(team), allowed=False)
    refused = load_memory(world.find().place)
    assert (refused.outside, refused.diagnostics[-1].code) == ((), "memory.import-refused")
    remember_import(world.root / "state", world.find().project, str(team), allowed=True)
    assert world.texts() == [f"@{team}", "team"]


def automatic(world: World) -> Path:
    return world.root / "state/memory" / project_key(str(world.repo))


@pytest.mark.req("R144", "R145")
def test_automatic_memory_is_read_where_it_is_and_kept_when_it_is_wanted(world: World) -> None:
    (folder,) = world.find().place.folders
    assert (folder.path, folder.is_kept) == (str(automatic(world)), False)
    assert not automatic(world).exists()
    write(automatic(world) / "MEMORY.md", "\n".join(f"line {n}" for n in range(300)))
    (folder,) = world.find().place.folders
    assert folder.is_kept
    (text,) = world.texts()
    assert "line 199" in text
    assert "line 200" not in text
    assert "MEMORY.md. Read the file for the rest." in text
    world.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"
    assert world.texts() == []
    world.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "0"
    assert world.find().place.folders[0].is_kept


@pytest.mark.req("R420")
def test_team_memory_lies_inside_the_repository_or_where_a_person_said(world: World) -> None:
    write(world.repo / "docs/team/MEMORY.md", "inside")
    write(world.root / "shared/MEMORY.md", "outside")
    project = world.repo / ".claude/settings.json"
    write(project, json.dumps({"compositor": {"teamMemoryDirectory": "docs/team"}}))
    assert world.texts() == ["inside"]
    write(project, json.dumps({"compositor": {"teamMemoryDirectory": "../shared"}}))
    found = world.find()
    assert [folder.level for folder in found.place.folders] == [MemoryLevel.AUTOMATIC]
    assert [note.code for note in found.diagnostics] == ["memory.directory"]
    project.unlink()
    mine = {"compositor": {"teamMemoryDirectory": str(world.root / "shared")}}
    write(world.root / "home/.claude/settings.json", json.dumps(mine))
    assert world.texts() == ["outside"]


@pytest.mark.req("R420", "R138")
def test_a_link_is_no_way_out_of_the_repository_for_team_memory(world: World) -> None:
    write(world.root / "secret/MEMORY.md", "SECRET")
    (world.repo / "team").symlink_to(world.root / "secret")
    write(world.repo / ".claude/settings.json", json.dumps({"compositor": {"teamMemoryDirectory": "team"}}))
    assert world.texts() == []


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.mark.req("R112")
def test_a_worktree_inside_its_repository_loads_each_file_once_and_shares_notes_and_answers(world: World) -> None:
    git("init", "-q", cwd=world.repo)
    write(world.repo / "CLAUDE.md", "project")
    write(world.repo / ".claude/rules/x.md", "rule")
    git("add", ".", cwd=world.repo)
    git("commit", "-qm", "one", cwd=world.repo)
    git("worktree", "add", "-q", str(world.repo / ".worktrees/wt"), cwd=world.repo)
    worktree = world.repo / ".worktrees/wt"
    write(worktree / "CLAUDE.md", "worktree")
    assert world.texts(worktree) == ["worktree", "rule"]
    assert world.find(worktree).project == world.find().project == str(world.repo)
    assert world.find(worktree).place.folders == world.find().place.folders
