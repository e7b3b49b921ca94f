"""Where paths lie, what a pattern covers, and which paths are special."""

import pytest

from compositor.policy.paths import (
    PROTECTED_FILES,
    PROTECTED_FOLDERS,
    PathPattern,
    ResolvedPath,
    absolute_path,
    is_critical,
    is_in_scope,
    is_inside,
    is_protected,
    normal_path,
    path_patterns,
)
from tests.policy.judge import CWD, HOME, MORE, make_policy


@pytest.mark.parametrize(
    ("path", "absolute"),
    [
        ("a", f"{CWD}/a"),
        ("./a", f"{CWD}/./a"),
        ("../a", f"{CWD}/../a"),
        ("/a", "/a"),
        ("~", HOME),
        ("~/a", f"{HOME}/a"),
        ("~me/a", f"{CWD}/~me/a"),
        ("", f"{CWD}/"),
    ],
)
def test_a_path_is_made_absolute_and_keeps_its_steps(path: str, absolute: str) -> None:
    assert absolute_path(path, cwd=CWD, home=HOME) == absolute


@pytest.mark.parametrize(
    ("path", "normal"), [("/a/../b", "/b"), ("//a//b/", "/a/b"), ("/../..", "/"), ("/a/./b", "/a/b"), ("/", "/")]
)
def test_normal_paths(path: str, normal: str) -> None:
    assert normal_path(path) == normal


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/x", "/", True),
        ("/", "/", True),
    ],
)
def test_inside_is_by_whole_segments(path: str, folder: str, inside: bool) -> None:
    assert is_inside(path, folder) is inside


def test_scope_needs_both_readings() -> None:
    policy = make_policy()
    assert is_in_scope(ResolvedPath(f"{CWD}/a", f"{MORE}/a"), policy)
    assert not is_in_scope(ResolvedPath(f"{CWD}/a", "/etc/a"), policy)
    assert not is_in_scope(ResolvedPath("/etc/a", f"{CWD}/a"), policy)
    assert not is_in_scope(ResolvedPath(f"{CWD}/../x", f"{CWD}/x"), policy)


@pytest.mark.req("R363")
@pytest.mark.parametrize("name", sorted(PROTECTED_FILES))
def test_every_protected_file(name: str) -> None:
    assert is_protected(ResolvedPath(f"{CWD}/deep/{name}", f"{CWD}/deep/{name}"))
    assert is_protected(ResolvedPath(f"{CWD}/link", f"{HOME}/{name}"))
    assert not is_protected(ResolvedPath(f"{CWD}/x{name}", f"{CWD}/x{name}"))


@pytest.mark.parametrize("name", [*sorted(PROTECTED_FOLDERS), ".config/git"])
def test_every_protected_folder(name: str) -> None:
    assert is_protected(ResolvedPath(f"{CWD}/{name}/x", f"{CWD}/{name}/x"))
    assert is_protected(ResolvedPath(f"{CWD}/{name.upper()}", f"{CWD}/{name.upper()}"))
    assert not is_protected(ResolvedPath(f"{CWD}/x{name}x/y", f"{CWD}/x{name}x/y"))


@pytest.mark.parametrize(
    ("word", "place", "critical"),
    [
        ("/", "/", True),
        ("/usr", "/usr", True),
        ("/usr/local", "/usr/local", False),
        ("~", HOME, True),
        ("..", "/home/u", True),
        ("/home", "/home", True),
        (CWD, CWD, True),
        (f"{CWD}/*", f"{CWD}/*", True),
        ("a*", f"{CWD}/a*", False),
        (f"{MORE}/a*", f"{MORE}/a*", True),
        (f"{MORE}/a", f"{MORE}/a", False),
        ("a", f"{CWD}/a", False),
        ("a/*", f"{CWD}/a/*", False),
    ],
)
def test_critical_paths(word: str, place: str, critical: bool) -> None:
    assert is_critical(word, ResolvedPath(place, place), make_policy()) is critical


def test_a_link_to_a_critical_path_is_one() -> None:
    assert is_critical("link", ResolvedPath(f"{CWD}/link", HOME), make_policy())


def matches(specifier: str, path: str, *, deep: bool = False) -> bool:
    return any(one.matches(path) for one in path_patterns(specifier, make_policy(), base="/set", deep=deep))


@pytest.mark.parametrize(
    ("specifier", "path", "allow", "deny"),
    [
        ("//a/b", "/a/b", True, True),
        ("//a/b", "/a/b/c", True, True),
        ("//a/b", "/a/bc", False, False),
        ("~/x", f"{HOME}/x", True, True),
        ("/x", "/set/x", True, True),
        ("/x", f"{CWD}/x", False, False),
        ("x", f"{CWD}/x", True, True),
        ("x", f"{CWD}/a/b/x", True, True),
        ("x", f"{MORE}/x", False, True),
        ("./x", f"{CWD}/x", True, True),
        ("./x", f"{CWD}/a/x", False, False),
        ("a/x", f"{CWD}/a/x", True, True),
        ("a/x", f"{CWD}/b/a/x", False, False),
        ("src/**", f"{CWD}/src/x", True, True),
        ("src/**", f"{CWD}/a/src/x", False, True),
        ("src/", f"{CWD}/a/src/x", False, True),
        ("src/*", f"{CWD}/a/src/x", False, False),
        ("a/src/**", f"{CWD}/b/a/src/x", False, False),
        ("**/x", f"{CWD}/x", True, True),
        ("**/x", f"{CWD}/a/b/x", True, True),
        ("a/**/x", f"{CWD}/a/x", True, True),
        ("a/**/x", f"{CWD}/a/b/c/x", True, True),
        ("a/**/**/x", f"{CWD}/a/x", True, True),
        ("*.py", f"{CWD}/a/b.py", True, True),
        ("a/*.py", f"{CWD}/a/b/c.py", False, False),
        ("[!a].c", f"{CWD}/b.c", True, True),
        ("[!a].c", f"{CWD}/a.c", False, False),
        ("[]x].c", f"{CWD}/].c", True, True),
        ("a[/]b", f"{CWD}/a/b", False, False),
        ("[z-a].c", f"{CWD}/b.c", False, False),
        ("[", f"{CWD}/[", True, True),
        ("a\\*b", f"{CWD}/a*b", True, True),
        ("a\\*b", f"{CWD}/axb", False, False),
        ("{a,b}", f"{CWD}/a", False, False),
        ("a.c", f"{CWD}/abc", False, False),
        ("**", f"{CWD}/any/thing", True, True),
        ("//", "/any", True, True),
        ("!x", f"{CWD}/x", False, False),
        ("x", f"{CWD}/x\ny", False, False),
        ("x*", f"{CWD}/x\ny", True, True),
    ],
)
def test_patterns(specifier: str, path: str, allow: bool, deny: bool) -> None:
    assert matches(specifier, path) is allow
    assert matches(specifier, path, deep=True) is deny


def test_case_is_ignored_where_the_file_system_ignores_it() -> None:
    assert not PathPattern("/a/\\.env").matches("/a/.ENV")
    assert PathPattern("/a/\\.env", ignore_case=True).matches("/a/.ENV")
    (pattern,) = path_patterns("//a/.env", make_policy(ignore_case=True), base=None, deep=True)
    assert pattern.matches("/A/.ENV")
