"""AskUserQuestion: questions to the person, and their answers.

Decides how answers are told to the model. How a person is asked is the business of whoever implements `Interviewer`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted
from compositor.ports import Asker, Interviewer, Permission, Question, ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .results import Problem, done, failed, read_input


class OptionInput(Struct, frozen=True, forbid_unknown_fields=True):
    label: str
    description: str = ""


class QuestionInput(Struct, frozen=True, forbid_unknown_fields=True):
    question: str
    header: str
    options: tuple[OptionInput, ...]
    multiSelect: bool = False  # noqa: N815  # the public name of the field


class AskInput(Struct, frozen=True, forbid_unknown_fields=True):
    questions: tuple[QuestionInput, ...]


class AskUserQuestionTool:
    definition: ToolDefinition = BUILTIN["AskUserQuestion"]

    def __init__(self, interviewer: Interviewer) -> None:
        self._interviewer = interviewer

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, AskInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        answers: dict[str, str] = {}
        for asked in wanted.questions:
            answer = await self._interviewer.answer(
                Question(
                    text=asked.question,
                    header=asked.header,
                    options=tuple((option.label, option.description) for option in asked.options),
                    several=asked.multiSelect,
                )
            )
            if answer is None:
                return failed(
                    call, "The person did not answer. Decide yourself or stop here.", structured={"answers": answers}
                )
            answers[asked.question] = answer
        text = "\n".join(f"{question}\n  {answer}" for question, answer in answers.items())
        shown = f"AskUserQuestion: {counted(len(answers), 'answer')}"
        structured: dict[str, Any] = {"answers": answers}
        return done(call, text, display=shown, structured=structured)


class NobodyAnswers:
    """Where no person can be reached: every question stays open."""

    async def answer(self, question: Question) -> str | None:  # noqa: ARG002  # the port's signature
        return None


class QuestionsAreTheirOwnPermission:
    """Asks for permission as `asker` does, except for a question to the person: to be asked whether one may be asked says nothing."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def ask(self, permission: Permission) -> bool:
        return permission.call.name == AskUserQuestionTool.definition.name or await self._asker.ask(permission)
