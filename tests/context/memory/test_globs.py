"""The glob language of rules and exclusions: what matches, what means nothing, and that no pattern is slow."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.memory.facts import MemoryPlace
from compositor.context.memory.globs import MAX_PATTERNS, compile_globs
from compositor.context.memory.rules import RuleGlobs, rule_base
from compositor.types.memory import MemoryLevel
from tests.context.memory.disk import place


def matches(glob: str, path: str) -> bool:
    return compile_globs((glob,))[0].matches(path.split("/"))


MATRIX = [
    # Any depth, and the top alone.
    ("**/*.ts", "a.ts", True),
    ("**/*.ts", "x/y/a.ts", True),
    ("**/*.ts", "a.tsx", False),
    ("*.md", "a.md", True),
    ("*.md", "docs/a.md", False),
    ("src/**/*", "src/a", True),
    ("src/**/*", "src/x/y/a", True),
    ("src/**/*", "lib/src/a", False),
    ("src/**", "src/a/b", True),
    ("src/**", "src", False),
    ("**", "a/b", True),
    ("a/**/b/**/c", "a/1/b/2/b/3/c", True),
    ("a/**/b", "a/b", True),
    # Stars inside a name stay inside it.
    ("src/*", "src/a/b", False),
    ("a**b", "a/b", False),
    ("a**b", "axxb", True),
    ("?.ts", "a.ts", True),
    ("?.ts", "ab.ts", False),
    # Braces.
    ("**/*.{ts,tsx}", "q/a.tsx", True),
    ("{src,lib}/**/*.ts", "lib/a.ts", True),
    ("{src,lib}/**/*.ts", "test/a.ts", False),
    ("{a,{b,c}}/x", "c/x", True),
    ("v{1..3}/x", "v2/x", True),
    ("a{,b}.md", "a.md", True),
    ("{a}", "{a}", True),
    (r"\{a,b\}", "{a,b}", True),
    # Brackets.
    ("[ab].md", "b.md", True),
    ("[!ab].md", "c.md", True),
    ("[^ab].md", "a.md", False),
    ("[a-c]x", "bx", True),
    ("[]x].md", "].md", True),
    (r"[\]x].md", "].md", True),
    ("[z-a]", "m", False),
    (r"a\[x\].md", "a[x].md", True),
    # Names with a dot in front match like all others.
    ("**/*", ".github/workflows/ci.yml", True),
    ("*.yml", ".ci.yml", True),
    (".github/**", ".github/a", True),
    # Blanks and case.
    ("my docs/*.md", "my docs/a b.md", True),
    ("*.TS", "a.ts", False),
    ("SRC/*", "src/a", False),
    (r"\*.md", "*.md", True),
    (r"\*.md", "a.md", False),
    ("größe/*.md", "größe/ä.md", True),
]


@pytest.mark.req("R126", "R132")
@pytest.mark.parametrize(("glob", "path", "expected"), MATRIX)
def test_what_matches(glob: str, path: str, *, expected: bool) -> None:
    assert matches(glob, path) is expected


@pytest.mark.req("R126")
def test_the_braces_of_one_file_share_a_budget() -> None:
    first, second, third = compile_globs(("{1..600}", "{1..500}x", "*.md"))
    assert len(first.alternatives) == 600
    assert "literally" in second.problem
    assert not second.matches(["2x"])
    assert second.matches(["{1..500}x"])
    assert third.matches(["a.md"])


@pytest.mark.parametrize("glob", ["{a,b}" * 30, "{1..99999999}", "{" * 5_000 + "a,b" + "}" * 5_000, "{" * 100_000])
def test_braces_that_explode_are_taken_literally(glob: str) -> None:
    (found,) = compile_globs((glob,))
    assert len(found.alternatives) == 1
    assert found.problem


def test_patterns_of_four_mebibytes_are_too_many() -> None:
    (found,) = compile_globs((f"{{1..{MAX_PATTERNS}}}" + "x" * 5_000,))
    assert found.problem
    assert not found.matches(["1" + "x" * 5_000])


@pytest.mark.req("R131")
def test_an_open_bracket_costs_its_own_pattern_only() -> None:
    broken, good = compile_globs(("src/[ab", "*.md"))
    assert "never closed" in broken.problem
    assert not broken.matches(["src", "[ab"])
    assert good.matches(["a.md"])


@pytest.mark.parametrize(
    ("glob", "path"), [("*a" * 60 + "b", "a" * 250), ("**/a/" * 60 + "b", "a/" * 1_000 + "c"), ("?*" * 100, "a" * 99)]
)
def test_no_pattern_is_slow(glob: str, path: str) -> None:
    started = time.process_time()
    assert not matches(glob, path)
    # Backtracking would take longer than anybody waits.
    assert time.process_time() - started < 2


NAMES = st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=5)


@given(NAMES, st.data())
def test_a_path_matches_itself_and_itself_with_folders_left_open(names: list[str], data: st.DataObject) -> None:
    path = "/".join(names)
    assert matches(path, path)
    begin = data.draw(st.integers(0, len(names) - 1))
    end = data.draw(st.integers(begin, len(names) - 1))
    assert matches("/".join([*names[:begin], "**", *names[end:]]), path)


def where(**changes: object) -> MemoryPlace:
    return place("/repo/pkg", project_root="/repo", **changes)


@pytest.mark.req("R132")
@pytest.mark.parametrize(
    ("level", "folder", "base"),
    [
        (MemoryLevel.PROJECT, "/repo", "/repo"),
        (MemoryLevel.PROJECT, "/repo/pkg", "/repo/pkg"),
        (MemoryLevel.USER, "/home/u/.claude", "/repo"),
    ],
)
def test_globs_start_at_the_folder_that_holds_the_rules_or_at_the_project(
    level: MemoryLevel, folder: str, base: str
) -> None:
    assert rule_base(level, folder, where()) == base


@pytest.mark.req("R132")
@pytest.mark.parametrize("glob", ["src/*.ts", "./src/*.ts", "/src/*.ts"])
def test_three_spellings_start_at_the_base(glob: str) -> None:
    globs = RuleGlobs(texts=(glob,), base="/repo")
    assert globs.match("/repo/src/a.ts") == glob
    assert globs.match("/repo/x/src/a.ts") is None
    assert globs.match("/repository/src/a.ts") is None
    assert globs.match("/repo") is None


def test_a_closing_slash_means_all_that_lies_below() -> None:
    globs = RuleGlobs(texts=("src/",), base="/repo")
    assert globs.match("/repo/src/x/a.ts") == "src/"
    assert globs.match("/repo/src") is None
