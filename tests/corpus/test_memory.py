"""Instruction files of real projects: every tree gives a stable report, and five were read by hand."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from compositor.adapters.memory_report import MemoryDesk
from compositor.config.flags import Flags
from compositor.context.memory.report import KINDS, MemoryReport

CORPUS = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "projects"
TREES = sorted(path.name for path in CORPUS.iterdir() if path.is_dir()) if CORPUS.is_dir() else []

pytestmark = pytest.mark.corpus


def copied(name: str, folder: Path, *, backwards: bool = False) -> Path:
    """The tree in a folder of its own, its files made in the order of their names or in the opposite one."""
    top = folder / name
    files = sorted(path for path in (CORPUS / name).rglob("*") if path.is_file())
    for path in files[::-1] if backwards else files:
        target = top / path.relative_to(CORPUS / name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return top


def report(top: Path) -> MemoryReport:
    environ = {
        "HOME": str(top.parent / "home"),
        "COMPOSITOR_HOME": str(top.parent / "state"),
        "PATH": os.environ["PATH"],
    }
    return MemoryDesk.open(str(top), Flags(), environ).report()


def test_the_corpus_is_there() -> None:
    assert len(TREES) == 30


@pytest.mark.req("R111", "R147")
@pytest.mark.parametrize("name", TREES)
def test_a_tree_gives_the_same_report_wherever_and_however_it_was_made(name: str, tmp_path: Path) -> None:
    outputs = set()
    for place, backwards in (("one", False), ("two", True)):
        top = copied(name, tmp_path / place, backwards=backwards)
        found = report(top)
        assert {finding.kind for finding in found.findings} <= set(KINDS)
        outputs.add(msgspec.json.encode(found).decode().replace(str(top), ""))
    assert len(outputs) == 1


# Name -> (in every request, when their folder is reached, rules that wait, findings). Read from the trees by hand.
BY_HAND: dict[str, tuple[list[str], list[str], list[str], list[tuple[str, str]]]] = {
    "46ki75+elmethis": (
        ["CLAUDE.md", "AGENTS.md"],
        [],
        [f".claude/rules/{name}.md" for name in ("a2ui", "components", "core", "testing")],
        [("never matches", f".claude/rules/{name}.md") for name in ("a2ui", "components", "core", "testing")],
    ),
    "88lin+divinesense": (
        [
            "CLAUDE.md",
            *(
                f".claude/rules/{name}.md"
                for name in ("file-editing", "api-design", "code-style", "git-workflow", "i18n", "testing")
            ),
        ],
        ["store/migration/postgres/CLAUDE.md"],
        [],
        [("duplicated", ".claude/rules/file-editing.md"), ("broken", ".claude/rules/code-style.md:33")],
    ),
    "melodic-software+claude-code-plugins": (
        ["CLAUDE.md", ".claude/memory/claude-code-ecosystem.md", ".claude/memory/operational-rules.md"],
        [],
        [],
        [("broken", f"CLAUDE.md:{line}") for line in (5, 17, 22, 23)],
    ),
    "slopus+happy": (
        ["AGENTS.md"],
        [
            "docs/competition/AGENTS.md",
            "environments/lab-rat-todo-project/CLAUDE.md",
            "packages/happy-app/CLAUDE.md",
            "packages/happy-cli/CLAUDE.md",
            "packages/happy-cli/src/daemon/CLAUDE.md",
            "packages/happy-server/CLAUDE.md",
            "packages/happy-server/deploy/integration-tests/CLAUDE.md",
            "packages/happy-server/deploy/integration-tests/AGENTS.md",
        ],
        [],
        [("broken", "packages/happy-app/CLAUDE.md:68"), ("broken", "packages/happy-app/CLAUDE.md:405")],
    ),
    "teslamint+entirecontext": (
        ["CLAUDE.md", "CLAUDE.local.md"],
        [],
        [],
        [("shadowed", "AGENTS.md")],
    ),
}


@pytest.mark.req("R111", "R112", "R126", "R133")
@pytest.mark.parametrize("name", BY_HAND)
def test_five_trees_say_what_a_person_reads_in_them(name: str, tmp_path: Path) -> None:
    top = copied(name, tmp_path)
    found = report(top)

    def paths(state: str) -> list[str]:
        return [row.path.removeprefix(f"{top}/") for row in found.rows if row.state == state]

    always, nested, waiting, findings = BY_HAND[name]
    assert (paths("always"), paths("nested"), paths("waits")) == (always, nested, waiting)
    assert [(one.kind, one.path.removeprefix(f"{top}/")) for one in found.findings] == findings
