"""Seven gates in turn, each narrowing with its reason (R005, R006)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.config.eligibility import (
    GATES,
    Candidate,
    CandidateKind,
    CandidateSource,
    Gate,
    GateFacts,
    allowed_names,
    narrow,
)

NEEDY = Candidate(
    name="Needy",
    why="the test wants it",
    host=frozenset({"bash"}),
    account=frozenset({"beta program"}),
    features=frozenset({"needy"}),
    provider=frozenset({"messages"}),
    session=frozenset({"terminal"}),
    deferrable=True,
)
OPEN: dict[str, Any] = {
    "host": frozenset({"bash"}),
    "account": frozenset({"beta program"}),
    "features": frozenset({"needy"}),
    "provider": frozenset({"messages"}),
    "session": frozenset({"terminal"}),
}

# Gate -> what closes it alone, and a word of the reason.
CLOSED: dict[Gate, tuple[dict[str, Any], str]] = {
    Gate.HOST: ({"host": frozenset()}, "'bash'"),
    Gate.ACCOUNT: ({"account": frozenset()}, "'beta program'"),
    Gate.FEATURE: ({"features": frozenset()}, "'needy'"),
    Gate.PROVIDER: ({"provider": frozenset()}, "'messages'"),
    Gate.SESSION: ({"session": frozenset()}, "'terminal'"),
    Gate.POLICY: ({"denied": (("Needy", "policy.json:3"),)}, "policy.json:3"),
    Gate.TOOL_SEARCH: ({"tool_search": True}, "tool search"),
}


@pytest.mark.req("R006")
def test_the_gates_stand_in_order() -> None:
    assert [gate.value for gate, _ in GATES] == [
        *("host", "account", "feature gate", "provider", "session", "policy", "tool search"),
    ]


@pytest.mark.req("R005", "R006")
def test_with_every_gate_open_the_finding_says_why_it_is_there() -> None:
    (finding,) = narrow([NEEDY], GateFacts(**OPEN))
    assert finding.allowed
    assert finding.gate is Gate.TOOL_SEARCH
    assert "the test wants it" in finding.reason


@pytest.mark.parametrize("gate", Gate)
@pytest.mark.req("R006")
def test_each_gate_alone_keeps_the_candidate_out_and_is_named(gate: Gate) -> None:
    change, word = CLOSED[gate]
    (finding,) = narrow([NEEDY], GateFacts(**{**OPEN, **change}))
    assert not finding.allowed
    assert finding.gate is gate
    assert word in finding.reason


@given(st.sets(st.sampled_from(list(Gate)), min_size=1))
def test_the_first_closed_gate_is_the_one_that_is_named(gates: set[Gate]) -> None:
    changes: dict[str, Any] = {}
    for gate in gates:
        changes |= CLOSED[gate][0]
    (finding,) = narrow([NEEDY], GateFacts(**{**OPEN, **changes}))
    assert finding.gate is min(gates, key=list(Gate).index)


@pytest.mark.parametrize(
    ("pattern", "name", "denied"),
    [
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("*", "Read", True),
        ("mcp__*", "mcp__github__search", True),
        ("mcp__git", "mcp__github__search", False),
        ("R??d", "Read", False),
        ("[R]ead", "Read", False),
        ("B.sh", "Bash", False),
    ],
)
def test_policy_takes_tools_out_by_name_or_glob(pattern: str, name: str, denied: bool) -> None:
    (finding,) = narrow([Candidate(name=name)], GateFacts(denied=((pattern, "p.json"),)))
    assert finding.allowed is not denied


def test_a_list_of_built_in_tools_leaves_other_sources_alone() -> None:
    candidates = (
        Candidate(name="Read"),
        Candidate(name="Bash"),
        Candidate(name="mcp__a__b", source=CandidateSource.MCP),
    )
    findings = narrow(candidates, GateFacts(builtins=frozenset({"Read"})))
    assert allowed_names(findings, CandidateKind.TOOL) == ("Read", "mcp__a__b")
    assert findings[1].gate is Gate.SESSION


def test_policy_speaks_of_tools_only() -> None:
    (finding,) = narrow([Candidate(name="speed", kind=CandidateKind.FIELD)], GateFacts(denied=(("*", "p.json"),)))
    assert finding.allowed


def test_there_are_six_sources_of_tools() -> None:
    assert [source.value for source in CandidateSource] == [
        *("built-in", "conditional", "plugin", "MCP", "agent", "dynamic"),
    ]
