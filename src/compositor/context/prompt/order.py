"""The one table of the system prompt's sections: what comes first, and what is declared about each.

Decides order, zone, priority, scope, cache kind and condition of every section. The texts stand in `sections/`, the declarations in `section.py`;
which prompt applies is decided in `choose.py`. To change what comes first, change the order of the rows.
"""

from __future__ import annotations

from compositor.types.system import Priority

from .section import (
    DANGEROUS_uncached_section,
    DynamicSection,
    Section,
    SharedScope,
    StaticSection,
    check_sections,
    memoised_section,
)
from .sections.actions import render_actions
from .sections.autonomous_brief import render_autonomous_brief
from .sections.doing_tasks import render_doing_tasks
from .sections.env_info import render_env_info
from .sections.function_result_clearing import render_function_result_clearing
from .sections.identity import render_identity
from .sections.language import render_language
from .sections.length_anchors import render_length_anchors
from .sections.mcp_instructions import render_mcp_instructions
from .sections.memory import render_memory
from .sections.output_efficiency import render_output_efficiency
from .sections.output_style import render_output_style
from .sections.profile_override import render_profile_override
from .sections.scratchpad import render_scratchpad
from .sections.session_guidance import render_session_guidance
from .sections.summarize_tool_results import render_summarize_tool_results
from .sections.system import render_system
from .sections.token_budget import render_token_budget
from .sections.tone_style import render_tone_style
from .sections.using_tools import render_using_tools

SECTIONS: tuple[Section, ...] = (
    StaticSection(
        key="identity",
        render=render_identity,
        scope=SharedScope.GLOBAL,
        topics=("identity", "safety_floor", "no_invented_urls"),
        why_here="who the model is, and what holds whatever follows",
    ),
    StaticSection(
        key="system",
        render=render_system,
        scope=SharedScope.GLOBAL,
        topics=(
            "output_constraints",
            "tool_constraints",
            "automatic_compaction",
            "reminder_added_by_client",
            "reminder_unrelated_to_carrier",
            "reminder_not_typed_by_user",
        ),
        why_here="how to read everything else that arrives",
    ),
    StaticSection(
        key="doing_tasks",
        render=render_doing_tasks,
        scope=SharedScope.GLOBAL,
        topics=(
            "no_speculative_abstraction",
            "no_early_error_handling",
            "no_single_use_helper",
            "no_needless_validation",
            "read_before_change",
        ),
        why_here="how to work",
    ),
    StaticSection(
        key="actions",
        render=render_actions,
        scope=SharedScope.GLOBAL,
        topics=(
            "reversibility",
            "blast_radius",
            "local_is_free",
            "confirm_irreversible",
            "approval_scope",
            "approval_not_standing",
        ),
        why_here="how to work: what needs a word first; the gate does not depend on it",
    ),
    StaticSection(
        key="using_tools",
        render=render_using_tools,
        scope=SharedScope.GLOBAL,
        topics=("dedicated_over_shell", "shell_is_opaque", "parallel_calls"),
        why_here="how to work: the habits that hold for every tool; a tool's own abilities stand in its definition",
    ),
    StaticSection(
        key="tone_style",
        render=render_tone_style,
        scope=SharedScope.GLOBAL,
        topics=("no_emoji", "file_line_references", "issue_references", "no_colon_before_call"),
        why_here="how to write",
    ),
    StaticSection(
        key="output_efficiency",
        render=render_output_efficiency,
        scope=SharedScope.GLOBAL,
        topics=("straight_to_the_point", "not_needlessly_terse", "reader_without_questions"),
        why_here="how to write: how much",
    ),
    memoised_section(
        "session_guidance",
        render_session_guidance,
        priority=Priority.P0,
        condition="the session has tools with habits of their own",
        why_here="how to work: what depends on the tools of this session",
    ),
    memoised_section(
        "memory",
        render_memory,
        priority=Priority.P0,
        condition="a folder of notes is kept",
        why_here="how to work: what is worth a note for later sessions",
        is_session_bound=True,
    ),
    DANGEROUS_uncached_section(
        "mcp_instructions",
        render_mcp_instructions,
        "servers connect and disconnect while a session runs, and without deltas only the section can say so",
        priority=Priority.P0,
        condition="`compositor.mcpInstructions` is `section`, and a server has something to say",
        why_here="how to work: what servers say about their tools",
        is_session_bound=True,
    ),
    memoised_section(
        "env_info",
        render_env_info,
        priority=Priority.P1,
        condition="always, in the default prompt",
        why_here="where the session runs; fixed when it starts",
        is_session_bound=True,
    ),
    memoised_section(
        "output_style",
        render_output_style,
        priority=Priority.P1,
        condition="the text of an output style is given",
        why_here="how to write: the style that the user chose",
    ),
    memoised_section(
        "function_result_clearing",
        render_function_result_clearing,
        priority=Priority.P1,
        condition="old tool results are cleared in this session",
        why_here="how to read: results that are gone",
    ),
    memoised_section(
        "summarize_tool_results",
        render_summarize_tool_results,
        priority=Priority.P1,
        condition="old tool results are cleared in this session",
        why_here="how to work: what to write down in time",
    ),
    memoised_section(
        "language",
        render_language,
        priority=Priority.P2,
        condition="a language is set",
        why_here="how to write: a standing wish of the user",
    ),
    memoised_section(
        "scratchpad",
        render_scratchpad,
        priority=Priority.P2,
        condition="commands can be run",
        why_here="how to work: where temporary files go",
    ),
    memoised_section(
        "token_budget",
        render_token_budget,
        priority=Priority.P2,
        condition="always, in the default prompt",
        why_here="how to work: what a budget means, should there be one",
    ),
    memoised_section(
        "profile_override",
        render_profile_override,
        priority=Priority.P2,
        condition="`compositor.profileInstructions` is set",
        why_here="what a group of users wants in addition",
    ),
    memoised_section(
        "length_anchors",
        render_length_anchors,
        priority=Priority.P3,
        condition="`compositor.lengthAnchors` is on",
        why_here="how to write: how much, in numbers",
    ),
    memoised_section(
        "autonomous_brief",
        render_autonomous_brief,
        priority=Priority.P3,
        condition="the autonomous mode is on",
        why_here="how to work: when nobody watches",
    ),
)

SESSION_BOUND: frozenset[str] = frozenset(
    section.key for section in SECTIONS if isinstance(section, DynamicSection) and section.is_session_bound
)
"""Keys of the sections that move to the first user message when session facts are excluded from the prompt (R105)."""


check_sections(SECTIONS)
