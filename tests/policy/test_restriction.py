"""What a helper of one file may do, by tool and path (R330)."""

import pytest

from compositor.policy.restriction import Restriction

ONE = Restriction("Edit", "/state/notes.md")


@pytest.mark.req("R330")
@pytest.mark.parametrize(
    ("name", "paths", "refused"),
    [
        ("Edit", ("/state/notes.md",), False),
        ("Edit", ("/state/other.md",), True),
        ("Edit", ("/state/notes.md", "/etc/passwd"), True),
        ("Edit", (), True),
        ("Write", ("/state/notes.md",), True),
        ("Bash", (), True),
        ("mcp__files__edit", ("/state/notes.md",), True),
    ],
)
def test_one_tool_on_one_file(name: str, paths: tuple[str, ...], refused: bool) -> None:
    assert (ONE.refusal(name, paths) is not None) is refused
