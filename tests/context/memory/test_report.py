"""The report as values: rows in order, what each finding is called, and plain statements that clash."""

from pathlib import Path

import msgspec
import pytest

from compositor.config.price import Tier
from compositor.context.memory.automatic import index_flow
from compositor.context.memory.chain import MemoryChain, nested_flow
from compositor.context.memory.contradictions import find_contradictions
from compositor.context.memory.facts import MemoryFolder, MemoryPlace
from compositor.context.memory.other_tools import is_other_tools
from compositor.context.memory.report import KINDS, MemoryReport, State, Survey, plan_report
from compositor.types.memory import MemoryLevel
from tests.context.memory.disk import Disk, place

TIER = Tier(above=0, input=2.0, output=10.0, write_5m=2.5, write_1h=4.0, read=0.2)


def report(disk: Disk, where: MemoryPlace | None = None, wanted: str | None = None) -> MemoryReport:
    where = where or place()
    start = disk.load(where)
    indexes = disk.drive(index_flow(where.folders))
    notes = (note for index in indexes for note in index.diagnostics)
    start = msgspec.structs.replace(start, indexes=indexes, diagnostics=(*start.diagnostics, *notes))
    names = tuple(sorted(path.removeprefix("/repo/") for path in disk.files if path.startswith("/repo/")))
    folders = sorted(
        {f"/repo/{name.rpartition('/')[0]}" for name in names if name.endswith("/CLAUDE.md") and "/." not in name}
    )
    nested = disk.drive(nested_flow(where, start, (), [f"{folder}/CLAUDE.md" for folder in folders]))
    survey = Survey(top="/repo", files=names, nested=tuple(folders), others=tuple(filter(is_other_tools, names)))
    return plan_report(where, start, nested, survey, applying=disk.nested(where, wanted) if wanted else None, tier=TIER)


def findings(disk: Disk, where: MemoryPlace | None = None) -> list[tuple[str, str]]:
    return [(found.kind, found.path) for found in report(disk, where).findings]


@pytest.mark.req("R115", "R129")
def test_rows_stand_in_load_order_with_level_imports_size_and_cost() -> None:
    disk = Disk(
        {
            "/home/u/.claude/CLAUDE.md": "user",
            "/repo/CLAUDE.md": "top @a.md",
            "/repo/a.md": "a @b.md",
            "/repo/b.md": "b",
            "/repo/.claude/rules/ts.md": "---\npaths: '*.ts'\n---\ntyped " * 3,
            "/repo/x.ts": "",
            "/repo/sub/CLAUDE.md": "nested",
        }
    )
    found = report(disk)
    assert [(row.state, row.level, row.path) for row in found.rows] == [
        (State.ALWAYS, "user", "/home/u/.claude/CLAUDE.md"),
        (State.ALWAYS, "project", "/repo/CLAUDE.md"),
        (State.ALWAYS, "project", "/repo/a.md"),
        (State.ALWAYS, "project", "/repo/b.md"),
        (State.NESTED, "project", "/repo/sub/CLAUDE.md"),
        (State.WAITS, "project", "/repo/.claude/rules/ts.md"),
    ]
    assert found.rows[3].chain == ("/repo/CLAUDE.md", "/repo/a.md")
    assert found.rows[0].sharing == "personal, for all projects"
    assert found.rows[1].bytes == len("top @a.md")
    assert found.tokens == sum(row.tokens for row in found.rows[:4])
    assert found.tokens_waiting == found.rows[5].tokens > 0
    assert found.cost_cached == pytest.approx(found.tokens * 0.2 / 1e6)
    assert found.cost_uncached == pytest.approx(found.tokens * 2.0 / 1e6)
    assert found.findings == ()


def test_what_a_path_brings_in_says_why() -> None:
    disk = Disk(
        {
            "/repo/.claude/rules/ts.md": "---\npaths: 'src/**'\n---\nrule @more.md",
            "/repo/.claude/rules/more.md": "more",
            "/repo/src/CLAUDE.md": "nested @part.md",
            "/repo/src/part.md": "part",
        }
    )
    rows = [row for row in report(disk, wanted="/repo/src/a.ts").rows if row.state is State.APPLIES]
    assert [(row.path, row.why) for row in rows] == [
        ("/repo/.claude/rules/ts.md", "/repo/src/a.ts matches 'src/**'"),
        ("/repo/src/CLAUDE.md", "its folder lies on the way"),
        ("/repo/src/part.md", "it is imported"),
    ]


CASES: dict[str, tuple[Disk, MemoryPlace | None, list[tuple[str, str]]]] = {
    "shadowed": (
        Disk({"/repo/CLAUDE.md": "a", "/repo/AGENTS.md": "b"}),
        None,
        [("shadowed", "/repo/AGENTS.md")],
    ),
    "excluded": (
        Disk({"/repo/CLAUDE.md": "a", "/repo/CLAUDE.local.md": "b"}),
        place(excludes=("**/CLAUDE.local.md",)),
        [("excluded", "/repo/CLAUDE.local.md")],
    ),
    "refused": (Disk({"/repo/CLAUDE.md": "@/etc/x.md"}), None, [("refused", "/repo/CLAUDE.md:1")]),
    "refused by you": (
        Disk({"/repo/CLAUDE.md": "@/etc/x.md"}),
        place(refused=("/etc/x.md",)),
        [("refused", "/repo/CLAUDE.md:1")],
    ),
    "never matches": (
        Disk({"/repo/.claude/rules/r.md": "---\npaths: '*.rs'\n---\nr"}),
        None,
        [("never matches", "/repo/.claude/rules/r.md")],
    ),
    "duplicated": (
        Disk({"/repo/CLAUDE.md": "same", "/repo/sub/CLAUDE.md": "same"}),
        None,
        [("duplicated", "/repo/sub/CLAUDE.md")],
    ),
    "duplicated import": (
        Disk({"/repo/CLAUDE.md": "@a.md\n@./a.md", "/repo/a.md": "a"}),
        None,
        [("duplicated", "/repo/a.md")],
    ),
    "broken": (
        Disk({"/repo/CLAUDE.md": "@gone.md <!-- x", "/repo/CLAUDE.local.md": b"Gr\xfc\xdfe"}),
        None,
        [("broken", "/repo/CLAUDE.md:1"), ("broken", "/repo/CLAUDE.local.md:1")],
    ),
    "broken glob": (
        Disk({"/repo/.claude/rules/r.md": "---\npaths: ['[a', '*.md']\n---\nr", "/repo/x.md": ""}),
        None,
        [("broken", "/repo/.claude/rules/r.md")],
    ),
    "circular": (
        Disk({"/repo/CLAUDE.md": "@a.md", "/repo/a.md": "a @CLAUDE.md"}),
        None,
        [("circular", "/repo/CLAUDE.md")],
    ),
    "large": (Disk({"/repo/CLAUDE.md": "x" * 40_001}), None, [("large", "/repo/CLAUDE.md")]),
    "empty": (Disk({"/repo/CLAUDE.md": "<!-- nothing -->"}), None, [("empty", "/repo/CLAUDE.md")]),
    "cut": (
        Disk({"/auto/MEMORY.md": "line\n" * 300}),
        place(folders=(MemoryFolder(path="/auto", level=MemoryLevel.AUTOMATIC),)),
        [("cut", "/auto/MEMORY.md")],
    ),
    "contradiction": (
        Disk({"/home/u/.claude/CLAUDE.md": "- Use tabs", "/repo/CLAUDE.md": "# Style\n\nUse spaces."}),
        None,
        [("contradiction", "/repo/CLAUDE.md:3")],
    ),
}


@pytest.mark.req("R115")
@pytest.mark.parametrize("name", CASES)
def test_each_finding_has_its_word(name: str) -> None:
    disk, where, expected = CASES[name]
    assert findings(disk, where) == expected
    assert {kind for kind, _ in expected} <= set(KINDS)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("AGENTS.md", True),
        ("pkg/GEMINI.md", True),
        (".cursorrules", True),
        (".cursor/rules/a.mdc", True),
        ("web/.cursor/rules/deep/a.mdc", True),
        (".github/copilot-instructions.md", True),
        ("pkg/.github/copilot-instructions.md", True),
        (".github/instructions/x.instructions.md", True),
        (".clinerules/a.md", True),
        (".windsurf/rules/a.md", True),
        ("CLAUDE.md", False),
        ("docs/copilot-instructions.md", False),
        ("cursor/rules/a.mdc", False),
        (".cursor/rules/a.txt", False),
    ],
)
def test_files_of_other_tools(path: str, *, expected: bool) -> None:
    assert is_other_tools(path) is expected


def test_the_report_says_which_files_of_other_tools_are_read() -> None:
    disk = Disk(
        {"/repo/CLAUDE.md": "@AGENTS.md", "/repo/AGENTS.md": "a", "/repo/GEMINI.md": "g", "/repo/.cursorrules": "c"}
    )
    assert [(other.path, other.is_read) for other in report(disk).other_tools] == [
        ("/repo/.cursorrules", False),
        ("/repo/AGENTS.md", True),
        ("/repo/GEMINI.md", False),
    ]


STATEMENTS = [
    ("Use semicolons", "Don't use semicolons", 1),
    ("Always write tests", "Never write tests", 1),
    ("- **Never** commit secrets.", "Do not commit secrets", 0),
    ("Use yarn", "Run npm install", 1),
    ("Use pnpm, not npm", "Use pnpm", 0),
    ("Use tabs", "Use tabs", 0),
    ("```\nUse tabs\n```", "Use spaces", 0),
    ("Prefer single quotes", "Use double quotes for strings", 1),
    ("The app shows tabs", "Use spaces", 0),
]


@pytest.mark.req("R116")
@pytest.mark.parametrize(("one", "other", "count"), STATEMENTS)
def test_plain_statements_that_clash(one: str, other: str, count: int) -> None:
    files = Disk({"/home/u/.claude/CLAUDE.md": one, "/repo/CLAUDE.md": other}).load(place()).files
    assert len(find_contradictions(files)) == count


def test_statements_of_one_file_are_not_compared() -> None:
    files = Disk({"/repo/CLAUDE.md": "Use tabs\n\nUse spaces"}).load(place()).files
    assert find_contradictions(files) == ()


def test_a_project_that_is_too_large_to_walk_is_not_judged() -> None:
    rule = "---\npaths: '*.rs'\n---\nr"
    start = Disk({"/repo/.claude/rules/r.md": rule}).load(place())
    found = plan_report(place(), start, MemoryChain(), Survey(top="/repo", files=("a",), is_whole=False))
    assert [finding.kind for finding in found.findings] == ["unfinished"]


def test_the_page_explains_every_word(repository: Path) -> None:
    page = (repository / "docs/reference/memory.md").read_text(encoding="utf-8").split("## The report\n")[1]
    table = page.split("|---|---|\n")[1].split("\n\n")[0]
    assert [row.split(" | ")[0].strip("| ") for row in table.split("\n")] == list(KINDS)
