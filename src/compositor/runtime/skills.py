"""Invokes skills: renders the text, runs the commands in it through the gate, grants what the skill asks for, and hands the note to the tail.

Decides nothing about permission: a command of a skill is a call like any other, judged without asking anybody, and what a skill grants are rules
among the others, for one turn. Which words call a skill, and how its note reads, stands in `context/extensions/invoke.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec
from msgspec import Struct

from compositor.context.extensions.catalog import Catalog, Place
from compositor.context.extensions.invoke import invoked_note, read_typed, told_once
from compositor.context.extensions.skills import Skill
from compositor.context.extensions.substitute import Command, fill_body, fill_variables
from compositor.policy.rules import parse_rule
from compositor.ports import Assignment, Employer, Ids, Reply, Tool, ToolScope
from compositor.runtime.driver import Admission
from compositor.runtime.events import CallEnded, NotesCollected, Watcher
from compositor.runtime.workforce import STATUS
from compositor.types.attachments import TextAttachment
from compositor.types.diagnostics import Diagnostic
from compositor.types.json import raw_json
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome
from compositor.types.verdicts import PermissionRule, RuleEffect

WITHHELD = "[A command of this skill was not run: the settings switch that off.]"
"""What stands in place of the output of a command that `disableSkillShellExecution` keeps from running."""


class Grants:
    """The rules that skills brought into force, for as long as the turn lasts."""

    def __init__(self) -> None:
        self.rules: tuple[PermissionRule, ...] = ()

    def add(self, rules: Iterable[PermissionRule]) -> None:
        self.rules = (*self.rules, *rules)

    def clear(self) -> None:
        self.rules = ()


async def _nobody_objects(_skill: Skill, _arguments: str, _prompt: str) -> str | None:
    """Where no hook hears what is typed."""
    return None


class Skilled(Struct, frozen=True, kw_only=True):
    """What skills work with. `judge` is the gate with nobody to ask; `variables` hold what `${CLAUDE_...}` stands for.

    `typed` hears of a skill that a person types, its arguments and the prompt, and gives why it may not be loaded. `has_person`: somebody can be told later what an agent reports. `runs_commands` is false where the settings keep skills from running any; those of the managed level run all the same.
    """

    catalog: Callable[[], Catalog[Skill]]
    judge: Callable[[ToolCall], Awaitable[Admission]]
    tools: Mapping[str, Tool]
    scope: Callable[[], ToolScope]
    grants: Grants
    variables: Mapping[str, str]
    watch: Watcher
    ids: Ids
    typed: Callable[[Skill, str, str], Awaitable[str | None]] = _nobody_objects
    runs_commands: bool = True
    has_person: bool = False


class Skills:
    """One session's. Implements `ports.SkillInvoker`; a person's words come by `hear`."""

    def __init__(self, given: Skilled) -> None:
        self._given = given
        self._notes: list[TextAttachment] = []
        self._employer: Employer | None = None

    def delegate(self, employer: Employer) -> None:
        """Skills that fork are tasks for agents from now on."""
        self._employer = employer

    async def hear(self, prompt: str) -> str | None:
        """Begin a turn, and invoke what a person typed. Why the turn may not begin, or `None`: one skill that fails stops them all."""
        self._given.grants.clear()
        typed = read_typed(prompt, self._given.catalog())
        if typed is None:
            return None
        before = len(self._notes)
        for skill in typed.skills:
            refusal = await self._given.typed(skill, typed.arguments, prompt)
            done = (
                await self._invoked(skill, typed.arguments, by_user=True)
                if refusal is None
                else Reply(problem=f"A hook keeps the {skill.kind.value} {skill.name!r} out: {refusal}")
            )
            if done.problem:
                del self._notes[before:]
                self._given.grants.clear()
                return done.problem
            if skill.forks:
                told = f"The user invoked the {skill.kind.value} {skill.name!r}, which an agent does:\n\n{done.text}"
                self._notes.append(TextAttachment(kind=STATUS, name=skill.name, text=told))
        return None

    async def invoke(self, name: str, arguments: str) -> Reply:
        skill = self._given.catalog().find(name)
        if skill is None or not skill.listed:
            return Reply(problem=self._unknown(name, skill))
        return await self._invoked(skill, arguments, by_user=False)

    def take_notes(self, told: Iterable[TextAttachment]) -> tuple[TextAttachment, ...]:
        """The notes since the last call; one whose text stands in the conversation already only says so."""
        if not self._notes:
            return ()
        before, notes = list(told), self._notes
        self._notes = []
        taken: list[TextAttachment] = []
        for note in notes:
            taken.append(told_once(note, (*before, *taken)))
        return tuple(taken)

    def _unknown(self, name: str, skill: Skill | None) -> str:
        if skill is not None:
            return f"Only the user can invoke the {skill.kind.value} {name!r}."
        listed = ", ".join(one.name for one in self._given.catalog().active if one.listed)
        return f"There is no skill {name!r}. There are: {listed or 'none'}."

    async def _invoked(self, skill: Skill, arguments: str, *, by_user: bool) -> Reply:
        """What came of a skill: its note is queued, or an agent does what it says. One that cannot be loaded grants nothing either."""
        before = self._given.grants.rules
        variables = {**self._given.variables, "CLAUDE_SKILL_DIR": skill.folder}
        self._grant(skill, variables, by_user=by_user)
        rendered = await self._rendered(skill, arguments, variables)
        if skill.forks or rendered.problem:
            self._given.grants.rules = before
        if rendered.problem:
            return rendered
        if skill.forks and self._employer is not None:
            beside = skill.background and self._given.has_person
            return await self._employer.start(
                Assignment(
                    kind=skill.agent,
                    prompt=rendered.text,
                    description=f"skill {skill.name}",
                    model=skill.model,
                    background=beside,
                )
            )
        self._notes.append(invoked_note(skill, rendered.text, by_user=by_user))
        return Reply(text=f"The text of the skill {skill.name!r} stands behind these results.")

    async def _rendered(self, skill: Skill, arguments: str, variables: Mapping[str, str]) -> Reply:
        """The text of a skill with its arguments and the output of its commands in place."""
        texts: list[str] = []
        for part in fill_body(skill, arguments, variables):
            text, problem = await self._output(skill, part) if isinstance(part, Command) else (part, None)
            if problem is not None:
                return Reply(problem=f"The {skill.kind.value} {skill.name!r} was not loaded: {problem}")
            texts.append(text)
        return Reply(text="".join(texts))

    async def _output(self, skill: Skill, command: Command) -> tuple[str, str | None]:
        """What a command of the body wrote, or why the skill cannot be loaded (project-conventions 5.5)."""
        if not self._given.runs_commands and skill.place is not Place.MANAGED:
            return WITHHELD, None
        if skill.shell != "bash" or "Bash" not in self._given.tools:
            return "", f"its commands need {skill.shell}, which is not there."
        call = ToolCall(
            id=f"skill_{self._given.ids.new()}", name="Bash", input=raw_json({"command": command.line.strip()})
        )
        admission = await self._given.judge(call)
        if not isinstance(admission, ToolCall):
            return "", f"its command {command.line!r} may not run. {_text(admission)}"
        outcome = await self._given.tools["Bash"].run(admission, self._given.scope())
        self._given.watch(CallEnded(admission, outcome))
        if outcome.kind is not OutcomeKind.DONE:
            return "", f"its command {command.line!r} failed: {_text(outcome)}"
        return _written(outcome), None

    def _grant(self, skill: Skill, variables: Mapping[str, str], *, by_user: bool) -> None:
        """`allowed-tools` and `disallowed-tools` as rules. What a repository grants waits for trust, unless the person called for it."""
        given_by = {Place.MANAGED: "managed", Place.PROJECT: "session" if by_user else "project"}
        allows = given_by.get(skill.place, "user")
        texts = [(RuleEffect.ALLOW, allows, text) for text in skill.allowed_tools]
        texts += [(RuleEffect.DENY, "session", text) for text in skill.disallowed_tools]
        for effect, level, text in texts:
            rule = parse_rule(
                fill_variables(text, variables),
                effect=effect,
                level=level,
                file=skill.path,
                base=self._given.scope().cwd,
            )
            if isinstance(rule, PermissionRule):
                self._given.grants.add([rule])
            else:
                note = Diagnostic("skills.rule", str(rule), where=skill.path, step="skills")
                self._given.watch(NotesCollected((), (note,)))


def _text(outcome: ToolOutcome) -> str:
    return outcome.content if isinstance(outcome.content, str) else ""


class _Written(Struct):
    stdout: str = ""


def _written(outcome: ToolOutcome) -> str:
    """What a command wrote, without the words that Bash adds for the model."""
    if outcome.structured is None:
        return _text(outcome)
    return msgspec.json.decode(outcome.structured, type=_Written).stdout.rstrip("\n")
