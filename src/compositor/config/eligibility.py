"""What is eligible for a request, narrowed by seven gates in turn, each finding with its reason (R005, R006).

Decides the order of the gates and what each of them asks. Never builds a tool, section or header: a candidate is a name
with its needs.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable

from msgspec import Struct


class Gate(enum.StrEnum):
    """The seven narrowings, in order."""

    HOST = "host"
    ACCOUNT = "account"
    FEATURE = "feature gate"
    PROVIDER = "provider"
    SESSION = "session"
    POLICY = "policy"
    TOOL_SEARCH = "tool search"


class CandidateKind(enum.StrEnum):
    """What a candidate is a name of."""

    TOOL = "tool"
    SECTION = "section"
    BETA = "beta"
    FIELD = "field"


class CandidateSource(enum.StrEnum):
    """The six sources of tools (R002)."""

    BUILTIN = "built-in"
    CONDITIONAL = "conditional"
    PLUGIN = "plugin"
    MCP = "MCP"
    AGENT = "agent"
    DYNAMIC = "dynamic"


class Candidate(Struct, frozen=True, kw_only=True):
    """Something that could be in a request, and what it needs at each gate; an empty need is always met.

    `why` says why it is a candidate at all. `provider` names platform abilities, `session` session facts. `deferrable`:
    tool search may keep it out of the prefix.
    """

    name: str
    kind: CandidateKind = CandidateKind.TOOL
    source: CandidateSource = CandidateSource.BUILTIN
    why: str = ""
    host: frozenset[str] = frozenset()
    account: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    provider: frozenset[str] = frozenset()
    session: frozenset[str] = frozenset()
    deferrable: bool = False


class GateFacts(Struct, frozen=True, kw_only=True):
    """What the gates look at. `denied` are bare tool names and globs that policy takes out, each with its origin.

    `builtins` are the built-in tools a caller asked for, `None` for all of them (`--tools`).
    """

    host: frozenset[str] = frozenset()
    account: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    provider: frozenset[str] = frozenset()
    session: frozenset[str] = frozenset()
    builtins: frozenset[str] | None = None
    denied: tuple[tuple[str, str], ...] = ()
    tool_search: bool = False


class Eligibility(Struct, frozen=True, kw_only=True):
    """The outcome for one candidate: the gate that kept it out, or the last one that let it in, with the reason."""

    name: str
    kind: CandidateKind
    source: CandidateSource
    allowed: bool
    gate: Gate
    reason: str


def narrow(candidates: Iterable[Candidate], facts: GateFacts) -> tuple[Eligibility, ...]:
    """Put each candidate through the gates, in the order given."""
    return tuple(_judge(candidate, facts) for candidate in candidates)


def allowed_names(findings: Iterable[Eligibility], kind: CandidateKind) -> tuple[str, ...]:
    """The names of one kind that passed."""
    return tuple(finding.name for finding in findings if finding.allowed and finding.kind is kind)


def _judge(candidate: Candidate, facts: GateFacts) -> Eligibility:
    for gate, objection in GATES:
        reason = objection(candidate, facts)
        if reason is not None:
            return _finding(candidate, gate, reason, is_allowed=False)
    why = candidate.why or f"a {candidate.source.value} {candidate.kind.value}"
    return _finding(candidate, GATES[-1][0], f"{why}; no gate objected", is_allowed=True)


def _finding(candidate: Candidate, gate: Gate, reason: str, *, is_allowed: bool) -> Eligibility:
    return Eligibility(
        name=candidate.name,
        kind=candidate.kind,
        source=candidate.source,
        allowed=is_allowed,
        gate=gate,
        reason=reason,
    )


def _missing(needs: frozenset[str], there: frozenset[str], sentence: str) -> str | None:
    absent = sorted(needs - there)
    return sentence.format(", ".join(map(repr, absent))) if absent else None


def _at_host(candidate: Candidate, facts: GateFacts) -> str | None:
    return _missing(candidate.host, facts.host, "this machine has no {}")


def _at_account(candidate: Candidate, facts: GateFacts) -> str | None:
    return _missing(candidate.account, facts.account, "the account has no {}")


def _at_feature(candidate: Candidate, facts: GateFacts) -> str | None:
    return _missing(candidate.features, facts.features, "the feature {} is off")


def _at_provider(candidate: Candidate, facts: GateFacts) -> str | None:
    return _missing(candidate.provider, facts.provider, "model or platform has no {}")


def _at_session(candidate: Candidate, facts: GateFacts) -> str | None:
    is_builtin = candidate.kind is CandidateKind.TOOL and candidate.source is CandidateSource.BUILTIN
    if is_builtin and facts.builtins is not None and candidate.name not in facts.builtins:
        return "the caller asked for other built-in tools"
    return _missing(candidate.session, facts.session, "the session has no {}")


def _at_policy(candidate: Candidate, facts: GateFacts) -> str | None:
    if candidate.kind is not CandidateKind.TOOL:
        return None
    for pattern, origin in facts.denied:
        if re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), candidate.name):
            return f"the rule {pattern!r} of {origin} denies the whole tool"
    return None


def _at_tool_search(candidate: Candidate, facts: GateFacts) -> str | None:
    return "kept back until a tool search finds it" if facts.tool_search and candidate.deferrable else None


GATES: tuple[tuple[Gate, Callable[[Candidate, GateFacts], str | None]], ...] = (
    (Gate.HOST, _at_host),
    (Gate.ACCOUNT, _at_account),
    (Gate.FEATURE, _at_feature),
    (Gate.PROVIDER, _at_provider),
    (Gate.SESSION, _at_session),
    (Gate.POLICY, _at_policy),
    (Gate.TOOL_SEARCH, _at_tool_search),
)
"""The gates in order; the first objection keeps a candidate out."""
