"""What a helper of one file may do, by tool and path (R330)."""

import pytest
from msgspec.structs import replace

from compositor.policy.limits import ToolLimits
from compositor.types.verdicts import PermissionMode
from tests.policy.judge import judge, make_call, make_policy, make_rules

ONE = ToolLimits(tools=("Edit",), file="/state/notes.md")


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


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("Read", False),
        ("mcp__docs__search", False),
        ("Write", True),
        ("Agent", True),
        ("mcp__other__search", True),
        ("Grep", True),
    ],
)
def test_names_and_globs_and_what_is_taken_away(name: str, refused: bool) -> None:
    limits = ToolLimits(tools=("Read", "Grep", "mcp__docs__*", "Agent"), denied=("Agent", "Gre*"))
    assert (limits.refusal(name, ()) is not None) is refused


@pytest.mark.req("R330")
@pytest.mark.parametrize("mode", list(PermissionMode))
def test_the_gate_holds_to_the_limits_before_rules_and_modes_are_asked(mode: PermissionMode) -> None:
    policy = replace(
        make_policy(*make_rules(allow=("Read", "Write", "Bash")), mode=mode), limits=ToolLimits(tools=("Read",))
    )
    assert judge(make_call("Read", file_path="a.txt"), policy) == "allow"
    assert judge(make_call("Bash", command="ls"), policy) == "deny"
    assert judge(make_call("Write", file_path="a.txt", content="x"), policy) == "deny"
