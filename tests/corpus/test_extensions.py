"""Every skill, agent, command and output style of the corpus loads, or is named with the reason."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from compositor.adapters.extensions import ExtensionPlaces, find_extensions, find_in
from compositor.context.extensions.agents import settle_agents
from compositor.context.extensions.catalog import Kind, Place, Row, State
from compositor.context.extensions.skills import settle_skills
from compositor.context.extensions.styles import settle_styles

pytestmark = pytest.mark.corpus

CORPUS = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "projects"
FOLDERS = sorted(path.parent for path in CORPUS.rglob(".claude") if path.is_dir())
NAMED = {"skills": Kind.SKILL, "commands": Kind.COMMAND, "agents": Kind.AGENT, "output-styles": Kind.STYLE}


def rows_of(project: Path) -> Iterator[Row]:
    places = ExtensionPlaces(cwd=str(project), root=None, user=None)
    found = {kind: find_extensions(places, kind) for kind in Kind}
    yield from settle_skills((*found[Kind.SKILL], *found[Kind.COMMAND])).rows
    yield from settle_agents(found[Kind.AGENT]).rows
    yield from settle_styles(found[Kind.STYLE]).rows


def meant(project: Path) -> set[str]:
    """What a walk of our own takes for a definition: every skill file, and Markdown in the other folders."""
    found = set()
    for folder, kind in NAMED.items():
        top = project / ".claude" / folder
        pattern = "*/SKILL.md" if kind is Kind.SKILL else "**/*.md"
        found |= {os.path.realpath(path) for path in top.glob(pattern)}
    return found


@pytest.mark.parametrize("project", FOLDERS, ids=lambda path: str(path.relative_to(CORPUS)))
def test_everything_a_project_brings_is_active_or_has_a_reason(project: Path) -> None:
    rows = [row for row in rows_of(project) if row.place is Place.PROJECT]
    assert meant(project) <= {os.path.realpath(row.path) for row in rows}
    assert [row for row in rows if (row.state is State.ACTIVE) == bool(row.reason)] == []


def skill_folders() -> Iterator[Path]:
    """Folders with skills outside of `.claude`: those of other tools, and bare ones."""
    for path in sorted(CORPUS.rglob("skills")):
        if path.is_dir() and path.parent.name != ".claude" and any(path.glob("*/SKILL.md")):
            yield path


BARE = tuple(skill_folders())


@pytest.mark.parametrize("folder", BARE, ids=lambda path: str(path.relative_to(CORPUS)))
def test_skills_in_other_folders_load_too_or_have_a_reason(folder: Path) -> None:
    rows = settle_skills(find_in([str(folder.parent)], Kind.SKILL)).rows
    assert {os.path.realpath(path) for path in folder.glob("*/SKILL.md")} <= {
        os.path.realpath(row.path) for row in rows
    }
    assert any(row.state is State.ACTIVE for row in rows)
    assert [row for row in rows if (row.state is State.ACTIVE) == bool(row.reason)] == []


def test_skills_of_other_tools_are_found_in_a_project() -> None:
    projects = [path.parent.parent for path in BARE if path.parent.name == ".agents"]
    assert len(projects) >= 5
    for project in projects:
        found = find_extensions(ExtensionPlaces(cwd=str(project), root=None, user=None), Kind.SKILL)
        assert any("/.agents/skills/" in source.path for source in found), project


def test_the_corpus_has_enough_of_each_kind() -> None:
    active = Counter(row.kind for path in FOLDERS for row in rows_of(path) if row.path and row.state is State.ACTIVE)
    assert active[Kind.SKILL] >= 40
    assert active[Kind.COMMAND] >= 40
    assert active[Kind.AGENT] >= 30
    assert active[Kind.STYLE] >= 5
