"""Settings files: where they are looked for, and what happens when they cannot be read."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.settings_files import (
    SIZE_LIMIT,
    SettingsPlaces,
    find_places,
    load_layers,
    load_settings,
    system_directory,
)
from compositor.config.layer import Level
from compositor.errors import SettingsError


class World:
    """A home, a repository, a system directory, and files in them."""

    def __init__(self, root: Path) -> None:
        self.home, self.system, self.repository = root / "home", root / "system", root / "repository"
        self.start = self.repository / "package"
        for folder in (self.home, self.system, self.start):
            folder.mkdir(parents=True)
        git(self.repository, "init", "-q")
        self.environment = {"HOME": str(self.home)}

    def write(self, path: Path, value: Any) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return path

    def places(self, cwd: Path | None = None) -> SettingsPlaces:
        return find_places(str(cwd or self.start), self.environment, system=str(self.system))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True)


def test_without_any_file_there_are_no_layers(world: World) -> None:
    assert load_layers(world.places()) == ()


def test_each_level_has_its_place(world: World) -> None:
    world.write(world.system / "managed-settings.json", {"claudeMd": "managed"})
    world.write(world.home / ".claude/settings.json", {"language": "user"})
    world.write(world.start / ".claude/settings.json", {"language": "project"})
    world.write(world.repository / ".claude/settings.local.json", {"language": "local"})
    layers = load_layers(world.places(), given='{"language": "cli"}')
    assert [(layer.level, layer.base, layer.shared) for layer in layers] == [
        (Level.MANAGED, str(world.system), False),
        (Level.USER, str(world.home / ".claude"), False),
        (Level.PROJECT, str(world.start), True),
        (Level.LOCAL, str(world.start), False),
        (Level.CLI, str(world.start), False),
    ]
    assert load_settings(world.places()).language == "local"


def test_project_settings_are_those_of_the_start_directory_alone(world: World) -> None:
    world.write(world.repository / ".claude/settings.json", {"language": "parent"})
    assert load_layers(world.places()) == ()


def test_the_user_directory_moves_with_its_variable(world: World, tmp_path: Path) -> None:
    world.write(world.home / ".claude/settings.json", {"language": "home"})
    world.write(tmp_path / "moved/settings.json", {"language": "moved"})
    world.environment["CLAUDE_CONFIG_DIR"] = str(tmp_path / "moved")
    assert load_settings(world.places()).language == "moved"


def test_a_run_in_the_home_directory_reads_the_users_file_as_the_users(world: World) -> None:
    world.write(world.home / ".claude/settings.json", {"language": "home"})
    (layer,) = load_layers(world.places(world.home))
    assert (layer.level, layer.shared) == (Level.USER, False)


@pytest.mark.parametrize(
    ("sources", "levels"),
    [
        (None, [Level.MANAGED, Level.USER, Level.PROJECT, Level.LOCAL]),
        ((Level.USER,), [Level.MANAGED, Level.USER]),
        ((Level.PROJECT, Level.LOCAL), [Level.MANAGED, Level.PROJECT, Level.LOCAL]),
        ((), [Level.MANAGED]),
    ],
)
def test_sources_choose_files_but_never_lose_managed_ones(
    world: World, sources: tuple[Level, ...] | None, levels: list[Level]
) -> None:
    for path in (
        world.system / "managed-settings.json",
        world.home / ".claude/settings.json",
        world.start / ".claude/settings.json",
        world.repository / ".claude/settings.local.json",
    ):
        world.write(path, {"language": "any"})
    layers = load_layers(world.places(), given='{"model": "opus"}', sources=sources)
    assert [layer.level for layer in layers] == [*levels, Level.CLI]


# ---- managed


def test_drop_ins_come_after_the_base_file_in_alphabetical_order(world: World) -> None:
    world.write(world.system / "managed-settings.json", {"model": "base", "permissions": {"deny": ["A"]}})
    drop_ins = world.system / "managed-settings.d"
    world.write(drop_ins / "20-late.json", {"model": "late", "permissions": {"deny": ["A", "C"]}})
    world.write(drop_ins / "10-early.json", {"model": "early", "permissions": {"deny": ["B"]}})
    world.write(drop_ins / ".hidden.json", {"model": "hidden"})
    world.write(drop_ins / "notes.txt", "not settings")
    settings = load_settings(world.places())
    assert settings.model == "late"
    assert settings.permissions.deny == ("A", "B", "C")


def test_a_variable_adds_a_managed_directory_where_there_is_none(world: World, tmp_path: Path) -> None:
    world.write(tmp_path / "extra/managed-settings.json", {"permissions": {"deny": ["Bash"]}})
    world.environment["COMPOSITOR_MANAGED_DIR"] = str(tmp_path / "extra")
    settings = load_settings(world.places())
    assert [rule.level for rule in settings.rules()] == [Level.MANAGED]


@pytest.mark.req("R372")
def test_a_variable_never_replaces_or_loosens_the_system_policy(world: World, tmp_path: Path) -> None:
    policy = {"allowManagedPermissionRulesOnly": True, "permissions": {"deny": ["Bash"]}, "model": "opus"}
    world.write(world.system / "managed-settings.json", policy)
    loose = {"allowManagedPermissionRulesOnly": False, "permissions": {"allow": ["*"]}, "model": "haiku"}
    world.write(tmp_path / "extra/managed-settings.json", loose)
    world.environment["COMPOSITOR_MANAGED_DIR"] = str(tmp_path / "extra")
    settings = load_settings(world.places())
    assert settings.allow_managed_permission_rules_only
    assert settings.model == "opus"
    assert [rule.text for rule in settings.rules()] == ["Bash"]
    assert [note.code for note in settings.diagnostics] == ["settings.managed-unused"]


def test_an_empty_system_policy_delivers_no_key_and_decides_nothing(world: World, tmp_path: Path) -> None:
    world.write(world.system / "managed-settings.json", {})
    world.write(tmp_path / "extra/managed-settings.json", {"model": "opus"})
    world.environment["COMPOSITOR_MANAGED_DIR"] = str(tmp_path / "extra")
    assert load_settings(world.places()).model == "opus"


def test_a_broken_policy_stops_the_run(world: World) -> None:
    file = world.write(world.system / "managed-settings.json", '{"permissions": }')
    with pytest.raises(SettingsError) as caught:
        load_layers(world.places())
    assert caught.value.where == f"{file}:1:17"


def test_the_system_directory_is_an_absolute_path() -> None:
    assert Path(system_directory()).is_absolute()


# ---- local


def test_local_settings_lie_at_the_root_and_an_older_file_in_the_start_directory_counts_below_it(world: World) -> None:
    world.write(world.repository / ".claude/settings.local.json", {"language": "root", "permissions": {"allow": ["A"]}})
    world.write(world.start / ".claude/settings.local.json", {"language": "start", "permissions": {"allow": ["B"]}})
    settings = load_settings(world.places())
    assert settings.language == "root"
    assert set(settings.permissions.allow) == {"A", "B"}


def test_outside_a_repository_local_settings_lie_in_the_start_directory(world: World, tmp_path: Path) -> None:
    plain = tmp_path / "plain/inner"
    world.write(plain / ".claude/settings.local.json", {"language": "here"})
    world.write(plain.parent / ".claude/settings.local.json", {"language": "parent"})
    assert load_settings(world.places(plain)).language == "here"


def test_a_home_directory_that_is_a_repository_is_no_root(world: World) -> None:
    git(world.home, "init", "-q")
    inner = world.home / "project"
    inner.mkdir()
    world.write(world.home / ".claude/settings.local.json", {"language": "home"})
    assert load_layers(world.places(inner)) == ()


def test_in_a_worktree_the_root_is_the_worktree(world: World, tmp_path: Path) -> None:
    git(world.repository, "commit", "-q", "--allow-empty", "-m", "first")
    git(world.repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    file = world.write(tmp_path / "tree/.claude/settings.local.json", {"language": "tree"})
    (layer,) = load_layers(world.places(tmp_path / "tree"))
    assert (layer.file, layer.shared) == (str(file), False)
    git(tmp_path / "tree", "add", "-f", str(file))
    (layer,) = load_layers(world.places(tmp_path / "tree"))
    assert layer.shared


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_tracked_local_file_is_the_repositorys(world: World, version: str) -> None:
    file = world.write(world.repository / ".claude/settings.local.json", {"language": "local"})
    git(world.repository, "config", "index.version", version)
    git(world.repository, "add", "-f", str(file))
    (layer,) = load_layers(world.places())
    assert layer.shared


def test_a_local_file_beside_tracked_files_is_the_users_own(world: World) -> None:
    world.write(world.repository / "README.md", "text")
    world.write(world.start / ".claude/settings.local.jsonc", "no settings")
    git(world.repository, "add", ".")
    world.write(world.repository / ".claude/settings.local.json", {"language": "local"})
    (layer,) = load_layers(world.places())
    assert not layer.shared


def test_an_index_that_cannot_be_read_simply_counts_as_tracking_the_file(world: World) -> None:
    world.write(world.repository / ".claude/settings.local.json", {"language": "local"})
    (world.repository / ".git/index").write_bytes(b"something else")
    (layer,) = load_layers(world.places())
    assert layer.shared


def test_a_linked_settings_folder_is_the_repositorys(world: World, tmp_path: Path) -> None:
    world.write(tmp_path / "elsewhere/settings.local.json", {"language": "local"})
    (world.repository / ".claude").symlink_to(tmp_path / "elsewhere")
    (layer,) = load_layers(world.places())
    assert layer.shared


# ---- given


def test_a_given_file_anchors_its_rules_in_its_own_directory(world: World, tmp_path: Path) -> None:
    file = world.write(tmp_path / "given/my.json", {"permissions": {"deny": ["Read(/x)"]}})
    (layer,) = load_layers(world.places(), given=str(file))
    assert (layer.level, layer.file, layer.base) == (Level.CLI, str(file), str(file.parent))


def test_a_given_relative_path_starts_in_the_start_directory(world: World) -> None:
    world.write(world.start / "my.json", {"language": "given"})
    assert load_settings(world.places(), given="my.json").language == "given"


def test_a_given_file_that_is_missing_is_an_error(world: World) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.json.*No such file"):
        load_layers(world.places(), given="nowhere.json")


def test_broken_inline_settings_name_the_flag(world: World) -> None:
    with pytest.raises(SettingsError) as caught:
        load_layers(world.places(), given='{"model": }')
    assert caught.value.where == "--settings:1:11"


@pytest.mark.parametrize("size", [SIZE_LIMIT, SIZE_LIMIT + 1])
@pytest.mark.parametrize("inline", [True, False])
def test_given_settings_have_at_most_two_mebibytes(world: World, size: int, inline: bool) -> None:
    text = '{"language": ""}'.ljust(size)
    given = text if inline else str(world.write(world.start / "big.json", text))
    if size <= SIZE_LIMIT:
        assert load_settings(world.places(), given=given).language == ""
    else:
        with pytest.raises(SettingsError, match="too large"):
            load_layers(world.places(), given=given)


# ---- what cannot be read


def test_a_directory_in_place_of_a_file_is_an_error_with_its_place(world: World) -> None:
    folder = world.home / ".claude/settings.json"
    folder.mkdir(parents=True)
    with pytest.raises(SettingsError, match="regular file") as caught:
        load_layers(world.places())
    assert caught.value.path == str(folder)


def test_a_pipe_is_refused_instead_of_waited_for(world: World) -> None:
    (world.start / ".claude").mkdir()
    os.mkfifo(world.start / ".claude/settings.json")
    with pytest.raises(SettingsError, match="regular file"):
        load_layers(world.places())


def test_a_file_in_place_of_the_settings_folder_is_no_folder(world: World) -> None:
    world.write(world.start / ".claude", "a file")
    world.write(world.system / "managed-settings.d", "a file")
    assert load_layers(world.places()) == ()


def test_a_link_to_nowhere_is_a_missing_file_and_a_loop_is_an_error(world: World) -> None:
    (world.start / ".claude").mkdir()
    link = world.start / ".claude/settings.json"
    link.symlink_to("nowhere")
    assert load_layers(world.places()) == ()
    link.unlink()
    link.symlink_to("settings.json")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_layers(world.places())


def test_unreadable_files_are_errors(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    file = world.write(world.home / ".claude/settings.json", {})
    original = Path.open

    def refuse(self: Path, *arguments: Any, **keywords: Any) -> Any:
        # Permission bits do not stop an administrator, who may run these tests.
        if self == file:
            raise PermissionError(13, "Permission denied")
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SettingsError, match=r"settings\.json.*Permission denied"):
        load_layers(world.places())
