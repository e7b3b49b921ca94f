"""Arguments and commands in the body of a skill (project-conventions 5.4, 5.5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.extensions.catalog import Kind, Place
from compositor.context.extensions.skills import Skill
from compositor.context.extensions.substitute import Command, fill_body


def fill(body: str, arguments: str = "", names: tuple[str, ...] = (), **variables: str) -> tuple[object, ...]:
    skill = Skill(kind=Kind.SKILL, name="s", place=Place.PROJECT, path="/s", body=body, arguments=names)
    return fill_body(skill, arguments, variables)


@pytest.mark.parametrize(
    ("body", "arguments", "names", "text"),
    [
        ("Fix $ARGUMENTS now", "a 'b c'", (), "Fix a 'b c' now"),
        ("Fix it", "a b", (), "Fix it\n\nARGUMENTS: a b"),
        ("Fix it", "  ", (), "Fix it"),
        ("$0 and $ARGUMENTS[1]", "a 'b c'", (), "a and b c"),
        ("$1 costs $5", "a b", (), "b costs $5"),
        ("$file $depth.", "x.py", ("file", "depth"), "x.py ."),
        ("$HOME stays", "a", (), "$HOME stays\n\nARGUMENTS: a"),
        (r"\$0 and \$ARGUMENTS and \$HOME", "a", (), "$0 and $ARGUMENTS and \\$HOME\n\nARGUMENTS: a"),
        ("$ARGUMENTSX", "a", (), "$ARGUMENTSX\n\nARGUMENTS: a"),
        ("$0", "it's", (), "it's"),
    ],
)
def test_what_a_placeholder_stands_for(body: str, arguments: str, names: tuple[str, ...], text: str) -> None:
    assert "".join(map(str, fill(body, arguments, names))) == text


def test_variables_of_the_session() -> None:
    filled = fill("${CLAUDE_SKILL_DIR}/x ${CLAUDE_OTHER} ${HOME}", CLAUDE_SKILL_DIR="/s")
    assert filled == ("/s/x ${CLAUDE_OTHER} ${HOME}",)


def test_commands_at_a_line_start_or_behind_a_blank_and_in_fences() -> None:
    body = "Now: !`git status` and\n!`date`\nnot`!`x`\n```!\ngit log $0\nls\n```\nend"
    filled = fill(body, "-3")
    assert [part for part in filled if isinstance(part, Command)] == [
        Command("git status"),
        Command("date"),
        Command("git log -3\nls"),
    ]
    assert filled[0] == "Now: "
    assert filled[-1] == "\nend"


@given(st.text(max_size=80))
def test_no_argument_brings_a_command_or_a_placeholder(arguments: str) -> None:
    filled = fill("A $ARGUMENTS B", f"{arguments} !`rm x` $0 ${{CLAUDE_SKILL_DIR}}", CLAUDE_SKILL_DIR="/secret")
    assert not any(isinstance(part, Command) for part in filled)
    assert filled == (f"A {arguments} !`rm x` $0 ${{CLAUDE_SKILL_DIR}} B",)
