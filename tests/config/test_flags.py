"""Flags: the forms in which they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.config.flags import parse_effort, parse_mode, parse_sources, parse_tools, split_rules, split_words
from compositor.config.layer import Level
from compositor.config.profile import Effort
from compositor.errors import UsageError
from compositor.types.verdicts import PermissionMode


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ()),
        ("Read", ("Read",)),
        ("Read,Edit", ("Read", "Edit")),
        ("Read Edit", ("Read", "Edit")),
        ("Bash(git log *), Edit", ("Bash(git log *)", "Edit")),
        ("Bash(git log *) Edit", ("Bash(git log *)", "Edit")),
        ("Bash(echo (a, b)),Read", ("Bash(echo (a, b))", "Read")),
        ("Bash(open", ("Bash(open",)),
        (")Read", (")Read",)),
        ("Read,,Read", ("Read",)),
    ],
)
def test_rules_are_split_outside_parentheses(text: str, rules: tuple[str, ...]) -> None:
    assert split_rules(text) == rules


@given(st.text("aB( ),*", max_size=30))
def test_splitting_rules_loses_no_letter(text: str) -> None:
    joined = "".join(split_rules(text))
    assert set(text.replace(",", "").replace(" ", "")) <= set(joined)


def test_words() -> None:
    assert split_words(" a,b  b,,c ") == ("a", "b", "c")


def test_effort_and_mode() -> None:
    assert parse_effort("XHIGH ") is Effort.XHIGH
    assert parse_mode("manual") is PermissionMode.DEFAULT
    assert parse_mode("acceptEdits") is PermissionMode.ACCEPT_EDITS
    with pytest.raises(UsageError, match=r"'huge'.*low, medium, high, xhigh, max"):
        parse_effort("huge")
    with pytest.raises(UsageError, match=r"'yolo'.*bypassPermissions"):
        parse_mode("yolo")


def test_sources() -> None:
    assert parse_sources("local,user") == (Level.USER, Level.LOCAL)
    assert parse_sources("") == ()
    with pytest.raises(UsageError, match="'managed'"):
        parse_sources("user,managed")


def test_tools() -> None:
    assert parse_tools("default") is None
    assert parse_tools("") == ()
    assert parse_tools("Read,Grep") == ("Read", "Grep")
