"""The steering fields of a request, made from the run contract (R020, R021).

Decides which field each setting maps to: exactly one, and only where model, platform and API version take it. The rows stand
in one table. Never carries context (R019) and never encodes a body: that is `context`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec import Raw, Struct, structs

from compositor.types.json import decode_json, raw_json
from compositor.types.request import RequestOptions
from compositor.types.snapshot import Facts

from .cache_choices import edits_body
from .candidates import SERVERS
from .contract import RunContract
from .eligibility import Candidate, CandidateKind, CandidateSource, Eligibility, narrow
from .platforms import Ability, beta_for
from .profile import FastMode, ThinkingKind

TURN_SCOPE_BETA = "mid-conversation-system-clear-at-2026-08-21"
"""With this beta among the run's betas a note for one turn is cleared by the service at the next user message (L38)."""

TOOL_CHANGES_BETA = "mid-conversation-tool-changes-2026-07-01"
"""With this beta, which sessions with servers send where it is known, a system message may add a tool (L45)."""


class RequestWishes(Struct, frozen=True, kw_only=True):
    """What one request asks for beside its run. `max_tokens` in tokens; `None` leaves the contract's value."""

    max_tokens: int | None = None
    tool_choice: Raw | None = None
    context_management: Raw | None = None
    stop_sequences: tuple[str, ...] | None = None


class PlannedOptions(Struct, frozen=True, kw_only=True):
    """The fields, and for each one that somebody wanted why it is there or not (R005)."""

    options: RequestOptions
    eligibility: tuple[Eligibility, ...]


def request_options(contract: RunContract, wishes: RequestWishes = RequestWishes()) -> RequestOptions:  # noqa: B008
    """The steering fields of the next request."""
    return plan_options(contract, wishes).options


def session_options(contract: RunContract) -> RequestOptions:
    """The steering fields that every request of a session shares: what the settings ask of the service's own edits is among them (R273)."""
    edits = edits_body(contract.settings.compositor.cache.edits)
    options = request_options(contract, RequestWishes(context_management=edits))
    if SERVERS not in contract.facts.session or not takes_tool_changes(contract):
        return options
    return structs.replace(options, betas=tuple(dict.fromkeys((*options.betas, TOOL_CHANGES_BETA))))


def takes_tool_changes(contract: RunContract) -> bool:
    """Whether a system message may bring a deferred tool into view on this model and platform (L45)."""
    knows = contract.platform.id in contract.profile.tool_changes and "tool_changes" not in contract.profile.doubts
    takes_betas = "experimental betas" in contract.facts.features and "betas" in contract.facts.provider
    return knows and contract.system_role and takes_betas


def plan_options(contract: RunContract, wishes: RequestWishes = RequestWishes()) -> PlannedOptions:  # noqa: B008
    """The steering fields with the finding for each of them."""
    values = {row.field: row.value(contract, wishes) for row in FIELDS}
    wanted = [(row, values[row.field]) for row in FIELDS if values[row.field] is not None]
    findings = narrow((row.candidate(contract, wishes) for row, _ in wanted), contract.facts)
    sent = {row.field: value for (row, value), finding in zip(wanted, findings, strict=True) if finding.allowed}
    betas, beta_findings = _betas(contract, tuple(sent))
    options = RequestOptions(
        model=contract.model,
        max_tokens=_max_tokens(contract, wishes),
        betas=betas,
        api_version=contract.api_version,
        caching=contract.caching,
        ttl=contract.ttl,
        **sent,
    )
    return PlannedOptions(options=options, eligibility=findings + beta_findings)


def request_facts(contract: RunContract) -> Facts:
    """What the fold must know of the contract."""
    return Facts(
        model=contract.model,
        binds_thinking=contract.profile.binds_thinking,
        system_role=contract.system_role,
        turn_scoped=contract.system_role and TURN_SCOPE_BETA in contract.betas,
        tool_changes=contract.system_role and TOOL_CHANGES_BETA in contract.betas,
        prefill=contract.profile.prefill,
    )


def facts_under(facts: Facts, betas: Collection[str]) -> Facts:
    """The facts under the betas that are really sent, or were."""
    return structs.replace(facts, turn_scoped=TURN_SCOPE_BETA in betas, tool_changes=TOOL_CHANGES_BETA in betas)


class FieldRow(Struct, frozen=True, kw_only=True):
    """One field: what it is made of and what it needs. `value` gives `None` where nobody wants the field."""

    field: str
    why: str
    value: Callable[[RunContract, RequestWishes], Any]
    needs: Callable[[RunContract, RequestWishes], frozenset[str]] = lambda _contract, _wishes: frozenset()

    def candidate(self, contract: RunContract, wishes: RequestWishes) -> Candidate:
        return Candidate(
            name=self.field,
            kind=CandidateKind.FIELD,
            source=CandidateSource.CONDITIONAL,
            why=self.why,
            provider=self.needs(contract, wishes),
        )


def _thinking(contract: RunContract, wishes: RequestWishes) -> Raw | None:
    thinking = contract.thinking
    if thinking.kind is not ThinkingKind.ENABLED:
        return raw_json({"type": thinking.kind.value}) if thinking.kind else None
    # The budget has to stay below the output cap and at or above 1,024 (L90).
    budget = min(thinking.budget or 0, _max_tokens(contract, wishes) - 1)
    return raw_json({"type": "enabled", "budget_tokens": budget}) if budget >= 1024 else None


def _thinking_needs(contract: RunContract, _wishes: RequestWishes) -> frozenset[str]:
    kind = contract.thinking.kind
    return frozenset({f"thinking {kind.value}"}) if kind else frozenset()


def _output_config(contract: RunContract, _wishes: RequestWishes) -> Raw | None:
    return raw_json({"effort": contract.effort.value}) if contract.effort else None


def _metadata(contract: RunContract, _wishes: RequestWishes) -> Raw | None:
    return raw_json({"user_id": contract.user_id}) if contract.user_id else None


def _choice_needs(_contract: RunContract, wishes: RequestWishes) -> frozenset[str]:
    choice = decode_json(bytes(wishes.tool_choice)) if wishes.tool_choice is not None else {}
    return frozenset({"forced tool choice"}) if choice.get("type") in {"any", "tool"} else frozenset()


def _asks_why(contract: RunContract) -> bool:
    return contract.settings.compositor.cache.diagnostics and contract.platform.has(Ability.DIAGNOSTICS)


def _needs(*names: str) -> Callable[[RunContract, RequestWishes], frozenset[str]]:
    return lambda _contract, _wishes: frozenset(names)


FIELDS: tuple[FieldRow, ...] = (
    FieldRow(field="thinking", why="the run's thinking", value=_thinking, needs=_thinking_needs),
    FieldRow(field="tool_choice", why="this request's choice", value=lambda _, w: w.tool_choice, needs=_choice_needs),
    FieldRow(field="metadata", why="the caller's user id", value=_metadata, needs=_needs("messages")),
    FieldRow(field="temperature", why="the caller's", value=lambda c, _: c.temperature, needs=_needs("sampling")),
    FieldRow(
        field="context_management",
        why="this request's edits",
        value=lambda _, w: w.context_management,
        needs=_needs("context management"),
    ),
    FieldRow(field="output_config", why="the run's effort", value=_output_config, needs=_needs("effort")),
    FieldRow(field="speed", why="fast mode", value=lambda c, _: "fast" if c.fast else None, needs=_needs("fast mode")),
    FieldRow(
        field="diagnostics",
        why="the service's own word on its cache",
        value=lambda c, _: raw_json({"previous_message_id": None}) if _asks_why(c) else None,
        needs=_needs("cache diagnostics"),
    ),
    FieldRow(field="stop_sequences", why="this request's", value=lambda _, w: w.stop_sequences),
)
"""One row a field, in the order in which `RequestOptions` holds them."""


def _max_tokens(contract: RunContract, wishes: RequestWishes) -> int:
    return min(wishes.max_tokens or contract.max_output, contract.profile.max_output)


def _betas(contract: RunContract, fields: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[Eligibility, ...]]:
    """The run's betas and those that the sent fields need, without repetition."""
    needed = [beta for beta in map(beta_for, fields) if beta is not None]
    if contract.profile.fast is not FastMode.BETA:
        needed = [beta for beta in needed if beta.field != "speed"]
    findings = narrow(
        (
            Candidate(
                name=beta.name,
                kind=CandidateKind.BETA,
                source=CandidateSource.CONDITIONAL,
                why=f"the field {beta.field!r} needs it",
                provider=frozenset({"betas"}),
            )
            for beta in needed
        ),
        contract.facts,
    )
    return tuple(dict.fromkeys((*contract.betas, *(beta.name for beta in needed)))), findings
