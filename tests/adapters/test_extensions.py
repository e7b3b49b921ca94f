"""Where skills, commands, agents and styles are looked for, and what becomes of what cannot be read."""

import os
from pathlib import Path

from compositor.adapters.extensions import MAX_BYTES, ExtensionPlaces, find_extensions
from compositor.config.layer import Level
from compositor.context.extensions.catalog import Kind, Place


def write(path: Path, text: str = "Body") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def places(tmp_path: Path, cwd: str = "repo/sub", **fields: object) -> ExtensionPlaces:
    return ExtensionPlaces(
        cwd=str(tmp_path / cwd),
        root=str(tmp_path / "repo"),
        user=str(tmp_path / "home/.claude"),
        managed=(str(tmp_path / "etc"),),
        **fields,  # type: ignore[arg-type]
    )


def names(tmp_path: Path, kind: Kind, **fields: object) -> list[tuple[Place, str, bool]]:
    found = find_extensions(places(tmp_path, **fields), kind)
    return [(one.place, one.name, not one.problem) for one in found]


def test_managed_then_the_nearest_folder_up_to_the_checkout_then_the_user(tmp_path: Path) -> None:
    for folder in ("etc/.claude", "repo/sub/.claude", "repo/.claude", "home/.claude", ".claude"):
        write(tmp_path / folder / "skills" / folder.split("/")[0].strip(".") / "SKILL.md")
    write(tmp_path / "repo/.claude/skills/top/SKILL.md")
    assert names(tmp_path, Kind.SKILL) == [
        (Place.MANAGED, "etc", True),
        (Place.PROJECT, "repo", True),
        (Place.PROJECT, "repo", True),
        (Place.PROJECT, "top", True),
        (Place.USER, "home", True),
    ]
    assert names(tmp_path, Kind.SKILL, levels=frozenset({Level.USER}))[1:] == [(Place.USER, "home", True)]


def test_a_home_directory_that_is_the_project_is_read_once_as_personal(tmp_path: Path) -> None:
    write(tmp_path / "home/.claude/agents/a.md")
    found = find_extensions(
        ExtensionPlaces(cwd=str(tmp_path / "home"), root=None, user=str(tmp_path / "home/.claude")), Kind.AGENT
    )
    assert [(one.place, one.name) for one in found] == [(Place.USER, "a")]


def test_agents_are_found_in_folders_and_no_link_leads_in_a_circle(tmp_path: Path) -> None:
    top = tmp_path / "repo/.claude/agents"
    write(top / "a.md")
    write(top / "deep/er/b.md")
    (top / "deep/loop").symlink_to(top)
    (top / "twice.md").symlink_to(top / "a.md")
    assert names(tmp_path, Kind.AGENT) == [(Place.PROJECT, "a", True), (Place.PROJECT, "b", True)]


def test_a_linked_skill_folder_is_followed_once(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/SKILL.md")
    skills = tmp_path / "repo/.claude/skills"
    skills.mkdir(parents=True)
    (skills / "one").symlink_to(tmp_path / "elsewhere")
    (skills / "two").symlink_to(tmp_path / "elsewhere")
    assert names(tmp_path, Kind.SKILL) == [(Place.PROJECT, "one", True)]


def test_what_cannot_be_read_is_found_with_its_reason(tmp_path: Path) -> None:
    top = tmp_path / "repo/.claude"
    (top / "skills/empty").mkdir(parents=True)
    write(top / "skills/loose.md")
    write(top / "skills/README.md")
    (top / "commands").mkdir()
    os.mkfifo(top / "commands/pipe.md")
    (top / "commands/bytes.md").write_bytes(b"ab\xff")
    write(top / "commands/large.md", "x" * (MAX_BYTES + 1))
    skills = {one.name: one.problem for one in find_extensions(places(tmp_path), Kind.SKILL)}
    assert skills == {
        "empty": "the folder has no file SKILL.md",
        "loose": "a skill is a folder with a file SKILL.md, not a file",
    }
    commands = {one.name: one.problem for one in find_extensions(places(tmp_path), Kind.COMMAND)}
    assert commands["bytes"] == "byte 2 is not UTF-8"
    assert "named pipe" in commands["pipe"]
    assert "larger than" in commands["large"]
