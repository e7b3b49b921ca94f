"""Files that enter while a session runs: rules that match, nested instruction files, once each, and what changed since."""

import pytest

from compositor.context.memory.chain import MemoryChain
from compositor.context.memory.news import NESTED, UPDATE, nested_notes, told_paths
from compositor.types.attachments import TextAttachment
from tests.context.memory.disk import Disk, place

RULE = "---\npaths: {}\n---\n{}"


def paths(chain: MemoryChain) -> list[str]:
    return [loaded.file.path for loaded in chain.files]


@pytest.mark.req("R122")
def test_the_files_of_a_folder_and_those_above_it_enter_outer_before_inner() -> None:
    disk = Disk(
        {
            "/repo/CLAUDE.md": "top",
            "/repo/a/CLAUDE.md": "outer",
            "/repo/a/CLAUDE.local.md": "mine",
            "/repo/a/b/.claude/CLAUDE.md": "inner",
            "/repo/a/b/.claude/rules/x.md": "rule",
            "/repo/c/CLAUDE.md": "elsewhere",
        }
    )
    expected = [
        "/repo/a/CLAUDE.md",
        "/repo/a/CLAUDE.local.md",
        "/repo/a/b/.claude/CLAUDE.md",
        "/repo/a/b/.claude/rules/x.md",
    ]
    assert paths(disk.nested(place(), "/repo/a/b/file.py")) == expected
    assert paths(disk.nested(place(), "/repo/a/b/file.py", "/repo/a/x.py")) == expected
    assert paths(disk.nested(place(), "/repo/top.py")) == []


@pytest.mark.req("R122")
def test_a_file_outside_the_working_directory_brings_nothing_unless_its_directory_was_added() -> None:
    disk = Disk(
        {"/repo/pkg/x": "", "/repo/lib/CLAUDE.md": "lib", "/other/CLAUDE.md": "o", "/other/sub/CLAUDE.md": "sub"}
    )
    where = place("/repo/pkg", project_root="/repo")
    assert paths(disk.nested(where, "/repo/lib/a.py", "/other/sub/b.py")) == []
    added = place("/repo/pkg", project_root="/repo", extra=("/other",))
    assert paths(disk.nested(added, "/other/sub/b.py")) == ["/other/sub/CLAUDE.md"]


@pytest.mark.req("R122", "R137")
def test_what_the_start_loaded_does_not_enter_again() -> None:
    disk = Disk(
        {"/repo/CLAUDE.md": "@a/CLAUDE.md", "/repo/a/CLAUDE.md": "a", "/repo/b/real.md": "b"},
        {"/repo/CLAUDE.local.md": "/repo/b/real.md", "/repo/b/CLAUDE.md": "/repo/b/real.md"},
    )
    assert paths(disk.nested(place(), "/repo/a/x", "/repo/b/x")) == []


SPELLINGS = [
    '\n  - "**/*.ts"\n  - "**/*.js"',
    "\n  - **/*.ts\n  - **/*.js",
    "**/*.ts, **/*.js",
    '"**/*.ts,**/*.js"',
    "**/*.{ts,js}",
]


@pytest.mark.req("R126", "R128", "R130")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_paths_waits_and_enters_once(spelling: str) -> None:
    disk = Disk({"/repo/.claude/rules/r.md": RULE.format(spelling, "Types first.")})
    assert disk.load(place()).files == ()
    told: list[TextAttachment] = []
    for reached, expected in (("/repo/README.md", 0), ("/repo/x/a.js", 1), ("/repo/a.ts", 0), ("/repo/README.md", 0)):
        chain = disk.nested(place(), reached, told=told_paths(told))
        notes = nested_notes(chain.files, told)
        assert len(notes) == expected
        told += notes
    (note,) = told
    assert (note.kind, note.path, note.name) == (NESTED, "/repo/.claude/rules/r.md", "project")
    assert "/repo/x/a.js matches" in note.text
    assert note.text.endswith("Types first.")


@pytest.mark.req("R130", "R133")
def test_a_rule_brings_its_imports_when_it_enters_and_not_before() -> None:
    disk = Disk({"/repo/.claude/rules/r.md": RULE.format("'*.ts'", "@more.md"), "/repo/.claude/rules/more.txt": ""})
    disk.files["/repo/.claude/rules/r.md"] = RULE.format("'*.ts'", "@../more.md").encode()
    disk.files["/repo/.claude/more.md"] = b"more"
    assert disk.load(place()).files == ()
    assert "/repo/.claude/more.md" not in disk.asked
    assert paths(disk.nested(place(), "/repo/a.ts")) == ["/repo/.claude/rules/r.md", "/repo/.claude/more.md"]


@pytest.mark.req("R132")
def test_rules_of_a_user_and_of_a_parent_start_at_the_project_and_at_their_own_folder() -> None:
    disk = Disk(
        {
            "/home/u/.claude/rules/mine.md": RULE.format("'pkg/*.ts'", "mine"),
            "/repo/.claude/rules/top.md": RULE.format("'pkg/*.ts'", "top"),
            "/repo/pkg/.claude/rules/own.md": RULE.format("'*.ts'", "own"),
            "/repo/pkg/.claude/rules/not.md": RULE.format("'pkg/*.ts'", "not"),
        }
    )
    where = place("/repo/pkg", project_root="/repo")
    expected = ["/home/u/.claude/rules/mine.md", "/repo/.claude/rules/top.md", "/repo/pkg/.claude/rules/own.md"]
    assert paths(disk.nested(where, "/repo/pkg/a.ts")) == expected


@pytest.mark.req("R126")
def test_a_nested_rule_waits_for_its_own_match() -> None:
    disk = Disk({"/repo/a/.claude/rules/r.md": RULE.format("'*.ts'", "typed")})
    assert paths(disk.nested(place(), "/repo/a/x.py")) == []
    assert paths(disk.nested(place(), "/repo/a/x.ts")) == ["/repo/a/.claude/rules/r.md"]


def test_excluded_and_gated_files_do_not_enter() -> None:
    disk = Disk({"/repo/a/CLAUDE.md": "a", "/repo/a/CLAUDE.local.md": "local"})
    assert paths(disk.nested(place(excludes=("**/a/CLAUDE.md",)), "/repo/a/x")) == ["/repo/a/CLAUDE.local.md"]
    assert paths(disk.nested(place(sources=("local",)), "/repo/a/x")) == ["/repo/a/CLAUDE.local.md"]
    assert paths(disk.nested(place(is_on=False), "/repo/a/x")) == []


@pytest.mark.req("R138")
def test_a_nested_file_may_import_no_more_than_one_of_the_start() -> None:
    disk = Disk(
        {"/repo/a/CLAUDE.md": "@../../etc/x.md @../shared.md", "/repo/shared.md": "shared", "/etc/x.md": "never"}
    )
    chain = disk.nested(place(), "/repo/a/x")
    assert paths(chain) == ["/repo/a/CLAUDE.md", "/repo/shared.md"]
    assert chain.outside == ("/etc/x.md",)
    assert "/etc/x.md" not in disk.asked


@pytest.mark.req("R147")
def test_the_order_of_what_was_reached_changes_nothing() -> None:
    files = {f"/repo/{name}/CLAUDE.md": name for name in "zäba"}
    reached = [f"/repo/{name}/x" for name in "zäba"]
    orders = {
        tuple(paths(Disk(files, seed=seed).nested(place(), *order)))
        for seed, order in enumerate((reached, reached[::-1]))
    }
    assert orders == {("/repo/a/CLAUDE.md", "/repo/b/CLAUDE.md", "/repo/z/CLAUDE.md", "/repo/ä/CLAUDE.md")}


@pytest.mark.req("R124")
def test_a_nested_file_that_changes_or_goes_is_told_once() -> None:
    disk = Disk({"/repo/a/CLAUDE.md": "one @b.md", "/repo/a/b.md": "b"})
    told: list[TextAttachment] = []

    def look(*reached: str) -> list[tuple[str, str | None]]:
        notes = nested_notes(disk.nested(place(), *reached, told=told_paths(told)).files, told)
        told.extend(notes)
        return [(note.kind, note.path) for note in notes]

    assert look("/repo/a/x") == [(NESTED, "/repo/a/CLAUDE.md"), (NESTED, "/repo/a/b.md")]
    assert look("/repo/a/x") == []
    disk.files["/repo/a/CLAUDE.md"] = b"two @b.md"
    assert look() == [(UPDATE, "/repo/a/CLAUDE.md")]
    assert told[-1].text.endswith("two @b.md")
    assert look("/repo/a/x") == []
    del disk.files["/repo/a/b.md"]
    assert look() == [(UPDATE, "/repo/a/b.md")]
    assert "does not apply any more" in told[-1].text
    assert look() == []
    disk.files["/repo/a/b.md"] = b"b"
    assert look() == [(UPDATE, "/repo/a/b.md")]


@pytest.mark.req("R122")
def test_without_a_history_a_file_enters_again_when_it_is_reached_again() -> None:
    disk = Disk({"/repo/a/CLAUDE.md": "one"})
    first = nested_notes(disk.nested(place(), "/repo/a/x").files, ())
    assert nested_notes(disk.nested(place(), told=told_paths(first)).files, first) == ()
    # A compaction begins a new history: nothing of it was told.
    assert disk.nested(place()).files == ()
    assert nested_notes(disk.nested(place(), "/repo/a/x").files, ()) == first
