"""What a session opens with: the head's parts, and the facts, rules and options that follow from the run contract.

Decides nothing of its own: it hands what was configured and what was found around the session to the parts that decide. Reads nothing;
whatever comes from outside stands in `Surroundings`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from compositor.config.candidates import SERVERS
from compositor.config.contract import RunContract
from compositor.config.eligibility import CandidateKind
from compositor.config.layer import Level
from compositor.config.options import session_options
from compositor.config.platforms import FIRST_PARTY, Ability, Platform
from compositor.config.profile import ModelProfile
from compositor.config.trust import Trust
from compositor.context.cache.scope import ORGANIZATION, ScopePlan, plan_scope
from compositor.context.extensions.styles import OutputStyle
from compositor.context.memory.automatic import keeping_rules
from compositor.context.memory.chain import MemoryChain
from compositor.context.memory.facts import MemoryPlace
from compositor.context.messages.legality import WireContext
from compositor.context.prompt.choose import DEFAULT_BRANCHES, PromptInputs, choose_prompt
from compositor.context.prompt.compute import DefaultPath, SectionMemo, compute_default, left_out_sections
from compositor.context.prompt.entries import ContextEntry
from compositor.context.prompt.facts import MachineFacts, Reader, SectionProfile, SessionFacts, Style
from compositor.context.prompt.layout import Placement, head_parts
from compositor.context.prompt.system_context import (
    GitStatus,
    Outline,
    PerforceStatus,
    plan_system_context,
    render_system_context,
)
from compositor.context.prompt.user_context import plan_user_context
from compositor.context.tokens import estimate_tokens
from compositor.context.tools.catalog import BUILTIN, as_head_tools, select_tools
from compositor.errors import ContextOverflowError
from compositor.policy.policy import Policy
from compositor.policy.rules import parse_rule, rule_doubts
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.provenance import Omission, Source
from compositor.types.request import Head, HeadParts, RequestOptions
from compositor.types.system import SectionText
from compositor.types.tools import ToolDefinition
from compositor.types.verdicts import PermissionRule, RuleEffect

from .offering import fit_searching


class AgentPart(Struct, frozen=True):
    """The agent that the conversation is led as: its name and its own prompt."""

    name: str
    prompt: str


class Surroundings(Struct, frozen=True, kw_only=True):
    """What was found around the session when it opened. Paths are absolute and real; `date` is the local day, `YYYY-MM-DD`.

    `tool_search` is what `ENABLE_TOOL_SEARCH` says, `style` the output style that was chosen, `agent` whose prompt takes the place of the default one, `coordinator` and `is_debugged` whether those switches are on. `git` is `None` outside a repository and where the state is not wanted; `is_repository` tells the two apart.
    """

    cwd: str
    home: str
    date: str
    machine: MachineFacts
    memory: MemoryChain
    memory_place: MemoryPlace
    git: GitStatus | None = None
    perforce: PerforceStatus | None = None
    outline: Outline | None = None
    is_repository: bool = False
    directories: tuple[str, ...] = ()
    minimal: bool = False
    coordinator: bool = False
    is_debugged: bool = False
    tool_search: str | None = None
    style: OutputStyle | None = None
    agent: AgentPart | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def refuse_oversize(head: Head, contract: RunContract) -> None:
    """Refuse a session whose fixed part leaves no room for a conversation (R385).

    Raises `ContextOverflowError` with the size of each region in estimated tokens.
    """
    sizes = {
        "tools": head.tools,
        "system prompt": head.system,
        "instruction files and notes": () if head.context is None else (head.context,),
    }
    tokens = {name: sum(estimate_tokens(chunk.data) for chunk in chunks) for name, chunks in sizes.items()}
    room = contract.window.tokens - min(contract.max_output, contract.window.tokens // 2)
    if sum(tokens.values()) > room:
        parts = ", ".join(f"{name} {count:,}" for name, count in tokens.items())
        raise ContextOverflowError(
            f"what every request holds does not fit the window of {contract.window.tokens:,} tokens: {parts} (estimated)",
            hint="Shorten the largest part, or take a model with a larger window",
        )


def session_scope(contract: RunContract, *, is_debugged: bool = False) -> ScopePlan:
    """How widely the system prompt may be shared: fixed for the session, by platform and by whether there are MCP servers (R088)."""
    return plan_scope(
        contract.platform.scopes,
        has_server_tools=SERVERS in contract.facts.session,
        is_first_party=contract.platform.id in FIRST_PARTY,
        is_debugged=is_debugged,
        dynamic=ORGANIZATION if contract.settings.compositor.dynamic_scope == "org" else None,
    )


def scoped_options(contract: RunContract, *, is_debugged: bool = False) -> RequestOptions:
    """The steering fields that every request of a session shares, scopes included."""
    scope = session_scope(contract, is_debugged=is_debugged)
    options = session_options(contract)
    if scope.static is None and scope.dynamic is None:
        return options
    return msgspec.structs.replace(options, scopes=(scope.static, scope.dynamic))


class PlannedHead(Struct, frozen=True, kw_only=True):
    """The parts of a head, and what was remembered of its sections: until a reset event they stay as they are (R048, R071)."""

    parts: HeadParts
    memo: SectionMemo
    branch: str
    path: DefaultPath

    @property
    def choice(self) -> Diagnostic:
        """Which system prompt applies (R082); what was given and not used stands among the omissions."""
        way = f", made by the {self.path.value} path" if self.branch in DEFAULT_BRANCHES else ""
        said = f"system prompt: the branch {self.branch!r} applies{way}"
        return Diagnostic("prompt.branch", said, severity=Severity.INFO, step="prompt")


def plan_head(
    contract: RunContract,
    around: Surroundings,
    memo: SectionMemo = SectionMemo(),  # noqa: B008  (a frozen value)
    instructions: Sequence[tuple[str, str]] = (),
) -> PlannedHead:
    """Compile order, steps 2 and 3 (R001): sections, contexts and tools, laid out as the parts of a head.

    `instructions` are what servers say of themselves, for sessions that do not announce it at the tail (R058).
    """
    tools, unselected = _tools(contract, around)
    facts = _session_facts(contract, around, tools, instructions)
    path = _path(contract, around)
    profile = SectionProfile(
        reader=Reader(contract.settings.compositor.reader),
        engineers=around.style is None or around.style.keeps_coding,
    )
    computed = compute_default(profile, facts, path, memo)
    prompt = choose_prompt(_prompt_inputs(contract, around, computed.sections))
    parts = head_parts(
        prompt,
        system_context=_in_system(contract, around),
        user_context=plan_user_context(around.memory),
        tools=as_head_tools(tools, "passed every eligibility gate"),
        placement=Placement.FIRST_MESSAGE if contract.prompt.exclude_dynamic else Placement.SYSTEM,
        omissions=(*_ineligible(contract), *unselected, *left_out_sections(computed), *around.memory.omissions),
    )
    return PlannedHead(parts=parts, memo=computed.memo, branch=prompt.branch, path=path)


def version_state(around: Surroundings) -> str:
    """The state of version control as one text, empty where there is none."""
    entries = plan_system_context(around.git, around.date, around.perforce)
    return "".join(fragment.text for fragment in render_system_context(entries))


def _in_system(contract: RunContract, around: Surroundings) -> tuple[ContextEntry, ...]:
    """The system context; a setting keeps the state of version control out of it (R091)."""
    if contract.settings.compositor.version_state == "message":
        return plan_system_context(None, around.date, None, around.outline)
    return plan_system_context(around.git, around.date, around.perforce, around.outline)


def _path(contract: RunContract, around: Surroundings) -> DefaultPath:
    own = contract.settings.compositor
    if around.minimal or own.minimal:
        return DefaultPath.MINIMAL
    return DefaultPath.AUTONOMOUS if own.autonomous else DefaultPath.STANDARD


def _prompt_inputs(contract: RunContract, around: Surroundings, default: tuple[SectionText, ...]) -> PromptInputs:
    own = contract.settings.compositor
    custom, override = contract.prompt.custom, contract.prompt.override
    return PromptInputs(
        default=default,
        agent=_agent_text(around, default),
        override=None if override is None else override.text,
        coordinator=_coordinator_text() if own.coordinator and around.coordinator else None,
        coordinator_gate=own.coordinator,
        coordinator_switch=around.coordinator,
        proactive=own.autonomous,
        custom=None if custom is None else custom.text,
        append="\n\n".join(text.text for text in contract.prompt.append) or None,
    )


def _agent_text(around: Surroundings, default: tuple[SectionText, ...]) -> str | None:
    """The prompt of an agent, with the facts of the environment that it would not have otherwise (6.3)."""
    if around.agent is None:
        return None
    facts = (section.fragment.text for section in default if section.key == "env_info")
    return "\n\n".join((around.agent.prompt, *facts))


def _coordinator_text() -> str:
    # Loaded only where gate and switch are on (R042, R083).
    from compositor.context.prompt.optional.coordinator import COORDINATOR

    return COORDINATOR


def _tools(contract: RunContract, around: Surroundings) -> tuple[tuple[ToolDefinition, ...], tuple[Omission, ...]]:
    """The built-in tools of the head."""
    definitions = [BUILTIN[name] for name in contract.tools if name in BUILTIN]
    tools, omitted = select_tools(definitions, None, (), contract.policy.mode)
    fitted, left_out = fit_searching(tools, contract, around.tool_search)
    return fitted, (*omitted, *left_out)


def wire_context(
    profile: ModelProfile, platform: Platform, *, api_version: str, betas: Sequence[str] = (), counting: bool = False
) -> WireContext:
    """The circumstances in which the wire rules judge. A fact that nobody confirmed stays unknown, and is then not judged."""
    known = {name: getattr(profile, name) for name in _ABILITIES if profile.is_known and name not in profile.doubts}
    if profile.is_known and "system_role" not in profile.doubts:
        known["system_role"] = platform.id in profile.system_role
    if profile.is_known and "thinking" not in profile.doubts:
        known["thinking"] = tuple(kind.value for kind in profile.thinking.kinds)
        known["off_effort_cap"] = profile.thinking.off_effort_cap
    return WireContext(
        api_version=api_version,
        betas=tuple(betas),
        counting=counting,
        body_limit=platform.body_limit,
        image_limit=platform.image_limit,
        automatic_caching=platform.has(Ability.AUTOMATIC_CACHING),
        versioned_body="body" in {platform.version_in, platform.betas_in} or platform.model_in == "path",
        **known,
    )


def plan_policy(
    contract: RunContract, around: Surroundings, *, interactive: bool
) -> tuple[Policy, tuple[Diagnostic, ...]]:
    """The enforcement line's view of the session: rules of all levels, mode, directories in scope. Takes nothing from the context line.

    Raises `PermissionRuleError` for a managed deny or ask rule that cannot be read.
    """
    rules: list[PermissionRule] = []
    notes: list[Diagnostic] = []
    for text in contract.policy.rules:
        where = text.file or text.level.value
        rule = parse_rule(
            text.text, effect=text.effect, level=text.level.value, file=text.file, base=text.base, where=where
        )
        if isinstance(rule, PermissionRule):
            rules.append(rule)
            notes.extend(rule_doubts(rule, where=where, known_tools=BUILTIN))
        elif text.level is Level.MANAGED and text.effect is not RuleEffect.ALLOW:
            # A prohibition of the organization that cannot be read must not be lost (law 7).
            raise rule
        else:
            notes.append(Diagnostic("policy.rule", str(rule), where=where, step="policy"))
    permissions = contract.settings.permissions
    policy = Policy(
        cwd=around.cwd,
        roots=tuple(dict.fromkeys((around.cwd, *around.directories, *_note_folders(around)))),
        home=around.home,
        rules=tuple(rules),
        mode=contract.policy.mode,
        interactive=interactive,
        trusted=contract.trust is Trust.TRUSTED,
        bypass_disabled=permissions.disable_bypass_permissions_mode is not None,
        managed_rules_only=contract.settings.allow_managed_permission_rules_only,
    )
    return policy, tuple(notes)


def _note_folders(around: Surroundings) -> tuple[str, ...]:
    """Folders of notes that a session works with: reading there is work inside its directories."""
    return tuple(folder.path for folder in around.memory_place.folders if folder.is_kept or folder.is_found)


_ABILITIES = ("prefill", "sampling", "forced_tools", "efforts", "max_output", "window")


def _session_facts(
    contract: RunContract,
    around: Surroundings,
    tools: Sequence[ToolDefinition],
    instructions: Sequence[tuple[str, str]],
) -> SessionFacts:
    own = contract.settings.compositor
    names = frozenset(tool.name for tool in tools)
    return SessionFacts(
        cwd=around.cwd,
        date=around.date,
        machine=around.machine,
        model=contract.model,
        is_repository=around.is_repository,
        model_name=contract.profile.name if contract.profile.is_known else "",
        additional_directories=around.directories,
        language=contract.settings.language,
        tools=names,
        memory_rules=tuple(keeping_rules(folder) for folder in around.memory_place.folders if folder.is_kept),
        server_instructions=tuple(instructions),
        clears_results=own.cache.edits is not None or own.cache.expired == "clean",
        has_scratchpad="Bash" in names,
        profile_text=own.profile_instructions,
        anchors_length=own.length_anchors,
        is_autonomous=own.autonomous,
        style=None if around.style is None else Style(around.style.name, around.style.text),
    )


def _ineligible(contract: RunContract) -> tuple[Omission, ...]:
    """Tools that a gate kept out, with the gate that did (R006)."""
    return tuple(
        Omission(f"tool {found.name}", f"{found.gate.value}: {found.reason}", "eligibility", Source("tool", found.name))
        for found in contract.eligibility
        if found.kind is CandidateKind.TOOL and not found.allowed
    )
