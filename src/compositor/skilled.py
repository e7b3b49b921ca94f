"""Joins the skills of a session with its gate, and its tools; called by `wiring`.

Decides which part each of them gets. What a skill means is decided in `context/extensions`, what it may do by the gate.
"""

from __future__ import annotations

from collections.abc import Mapping

from compositor.adapters.ids import UuidSource
from compositor.adapters.tools.session_tools import SessionTools
from compositor.adapters.tools.skill import SkillTool
from compositor.guarding import Guard
from compositor.opened import Opened
from compositor.runtime.events import Watcher
from compositor.runtime.skills import Grants, Skilled, Skills


def make_skills(opened: Opened, guard: Guard, tools: SessionTools, grants: Grants, watch: Watcher) -> Skills | None:
    """The skills of an opened session, and their tool among its tools; `None` for a session without a place to look for any."""
    shelf = opened.shelf
    if shelf is None:
        return None
    skills = Skills(
        Skilled(
            catalog=lambda: shelf.catalog,
            judge=guard.judge_quietly,
            tools=tools.box,
            scope=guard.workshop.scope,
            grants=grants,
            variables=_variables(opened),
            watch=watch,
            ids=UuidSource(),
            typed=lambda skill, arguments, prompt: guard.hooks.on_expansion(
                skill.name, arguments, skill.place.value, prompt
            ),
            has_person=opened.policy.interactive,
            runs_commands=not opened.contract.settings.disable_skill_shell_execution,
        )
    )
    tools.box.add(SkillTool(skills))
    return skills


def _variables(opened: Opened) -> Mapping[str, str]:
    effort = opened.contract.effort
    return {
        "CLAUDE_SESSION_ID": opened.header.session_id,
        "CLAUDE_EFFORT": "" if effort is None else effort.value,
        "CLAUDE_PROJECT_DIR": opened.around.cwd,
    }
