"""Patterns of commands and hosts, and what may be shown."""

import pytest

from compositor.policy.match import command_match, fetched_host, glob_match
from compositor.policy.paths import ResolvedPath
from compositor.policy.subject import subject_of
from compositor.policy.visibility import may_be_shown
from tests.policy.judge import judge, make_call, make_definition, make_policy, make_rules


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("*", "", True),
        ("a*", "a", True),
        ("a*b", "ab", True),
        ("a*b", "a b", True),
        ("a*a", "a", False),
        ("a*b*c", "axbyc", True),
        ("a*b*c", "axcyb", False),
        ("a*b*b*c", "abc", False),
        ("a*b*b*c", "abbc", True),
        ("*a*", "bab", True),
        ("a*b*c*d", "abcabcd", True),
        ("**", "x", True),
        ("[a]*", "[a]b", True),
        ("a?", "ab", False),
        ("a*c", "a\nc", True),
    ],
)
def test_a_star_stands_for_anything_and_nothing_else_is_special(pattern: str, text: str, matched: bool) -> None:
    assert glob_match(pattern, text) is matched


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("ls *", "ls", True),
        ("ls *", "ls -la", True),
        ("ls *", "lsof", False),
        ("ls*", "lsof", True),
        ("ls:*", "ls", True),
        ("ls:*", "ls -la", True),
        ("ls:*", "lsof", False),
        ("a:b:*", "a:b c", True),
        ("a:b", "a:b", True),
        ("git * main", "git checkout main", True),
        ("git * main", "git main", False),
        ("* --help *", "npm --help", True),
        ("* --help *", "npm --help x", True),
        ("* --help *", "npm --helper", False),
    ],
)
def test_a_trailing_star_needs_a_word_boundary(pattern: str, text: str, matched: bool) -> None:
    assert command_match(pattern, text) is matched


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.COM./x", "example.com"),
        ("http://a.test:80", "a.test"),
        ("https://u:p@a.test/", "a.test"),
        ("https://b\u00fccher.test/", "xn--bcher-kva.test"),
        ("https://[::1]/", "::1"),
        ("https://a.test\\@b.test/", None),
        ("https://a.test\n.b.test/", None),
        ("https://a .test/", None),
        ("https://[::1/", None),
        ("https://" + "a" * 64 + ".test/", None),
        ("https://", None),
        ("a.test", None),
        ("", None),
        (3, None),
    ],
)
def test_a_host_is_read_one_way_or_not_at_all(url: object, host: str | None) -> None:
    call = make_call("WebFetch", url=url)
    assert fetched_host(subject_of(call, make_definition("WebFetch"), make_policy())) == host
    if host is None:
        assert judge(call, make_policy(*make_rules(allow=("WebFetch",)))) == "deny"


@pytest.mark.req("R397")
def test_what_a_read_rule_denies_is_not_shown() -> None:
    policy = make_policy(*make_rules(deny=("Read(.env)", "Edit(a)"), ask=("Read(b)",)))
    assert not may_be_shown(ResolvedPath("/home/u/proj/x/.env", "/home/u/proj/x/.env"), policy)
    assert not may_be_shown(ResolvedPath("/home/u/proj/link", "/home/u/proj/.env"), policy)
    assert may_be_shown(ResolvedPath("/home/u/proj/a", "/home/u/proj/a"), policy)
    assert may_be_shown(ResolvedPath("/home/u/proj/b", "/home/u/proj/b"), policy)
