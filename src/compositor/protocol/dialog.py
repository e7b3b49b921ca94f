"""Control between a run and the program that started it: questions to the program, and its answers.

Decides how a question is matched with its answer and what a silent program means: an error, which for a permission is a no.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from compositor.errors import CompositorError, UsageError
from compositor.policy.rules import parse_rule
from compositor.ports import Permission, Question
from compositor.types.verdicts import PermissionRule, RuleEffect

from .incoming import ControlAnswer
from .messages import Message

QUESTIONS = "AskUserQuestion"


class Dialog:
    """The questions that are open. `write` prints one message."""

    def __init__(self, write: Callable[[Message], None]) -> None:
        self._write = write
        self._waiting: dict[str, anyio.Event] = {}
        self._answers: dict[str, ControlAnswer] = {}
        self._closed = False

    async def ask(self, subtype: str, **fields: Any) -> Mapping[str, Any]:
        """Ask the program and wait for its answer. Raises `UsageError` where it has none, or can give none any more."""
        if self._closed:
            raise _unanswered(subtype, "its input has ended")
        question, answered = str(uuid.uuid4()), anyio.Event()
        self._waiting[question] = answered
        self._write({"type": "control_request", "request_id": question, "request": {"subtype": subtype, **fields}})
        try:
            await answered.wait()
        except BaseException:
            self._write({"type": "control_cancel_request", "request_id": question})
            raise
        finally:
            self._waiting.pop(question, None)
        answer = self._answers.pop(question, None)
        if answer is None or answer.error is not None:
            raise _unanswered(
                subtype, "its input has ended" if answer is None or answer.error is None else answer.error
            )
        return answer.response

    async def exchange(self, server: str, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Hand a JSON-RPC message to an MCP server that lives in the program; gives its answer."""
        answer = await self.ask("mcp_message", server_name=server, message=message)
        found = answer.get("mcp_response")
        if not isinstance(found, dict):
            raise _unanswered("mcp_message", "it gave no 'mcp_response'")
        return found

    def take(self, answer: ControlAnswer) -> None:
        """An answer has come; one to a question that nobody waits for is dropped."""
        answered = self._waiting.get(answer.id)
        if answered is not None:
            self._answers[answer.id] = answer
            answered.set()

    def respond(self, question: str, response: Mapping[str, Any]) -> None:
        """Answer what the program asked."""
        said = {"subtype": "success", "request_id": question, "response": response}
        self._write({"type": "control_response", "response": said})

    def refuse(self, question: str, why: str) -> None:
        said = {"subtype": "error", "request_id": question, "error": why}
        self._write({"type": "control_response", "response": said})

    def close(self) -> None:
        """The program says no more: whoever waits hears so."""
        self._closed = True
        for answered in tuple(self._waiting.values()):
            answered.set()


class Standing(Struct, frozen=True, kw_only=True):
    """What an answer can do beside answering. `give` takes a rule for this session, `save` one for the project; both raise for what is none."""

    give: Callable[[str], None]
    save: Callable[[str], None]
    set_mode: Callable[[str], object]
    stop: Callable[[], None]
    tell: Callable[[str], None]


class DialogPerson:
    """Asks for permission, and puts the model's questions, through the program (`--permission-prompt-tool stdio`)."""

    def __init__(self, dialog: Dialog, standing: Standing) -> None:
        self._dialog = dialog
        self._standing = standing

    async def ask(self, permission: Permission) -> bool:
        """Only a clear `allow` for the very input that was asked about is a yes (law 7)."""
        call = permission.call
        asked = msgspec.json.decode(call.input)
        try:
            answer = await self._dialog.ask(
                "can_use_tool",
                tool_name=call.name,
                input=asked,
                tool_use_id=call.id,
                permission_suggestions=_suggestions(permission.suggestion),
                blocked_path=None,
                decision_reason=permission.reason,
                title=permission.display,
            )
        except UsageError:
            return False
        if answer.get("behavior") != "allow" or answer.get("updatedInput", asked) not in (asked, None):
            if answer.get("interrupt") is True:
                self._standing.stop()
            return False
        for update in answer.get("updatedPermissions") or ():
            self._take_up(update)
        return True

    def _take_up(self, update: object) -> None:
        """What an answer lets hold from now on. A part that cannot be taken up is told and costs nothing else."""
        fields = update if isinstance(update, dict) else {}
        try:
            match fields.get("type"):
                case "addRules" if fields.get("behavior") == "allow":
                    keep = self._standing.give if fields.get("destination") == "session" else self._standing.save
                    for rule in fields.get("rules") or ():
                        keep(_rule_text(rule))
                case "setMode":
                    self._standing.set_mode(str(fields.get("mode")))
                case kind:
                    self._standing.tell(f"a permission update of the type {kind!r} is not taken up")
        except (CompositorError, OSError, KeyError, TypeError) as problem:
            self._standing.tell(f"a permission update is not taken up: {problem}")

    async def answer(self, question: Question) -> str | None:
        options = [{"label": label, "description": about} for label, about in question.options]
        asked = {
            "question": question.text,
            "header": question.header,
            "options": options,
            "multiSelect": question.several,
        }
        try:
            answer = await self._dialog.ask(
                "can_use_tool",
                tool_name=QUESTIONS,
                input={"questions": [asked]},
                tool_use_id=str(uuid.uuid4()),
                permission_suggestions=None,
                blocked_path=None,
            )
        except UsageError:
            return None
        changed = answer.get("updatedInput")
        answers = changed.get("answers") if isinstance(changed, dict) else None
        found = answers.get(question.text) if isinstance(answers, dict) else None
        return found if isinstance(found, str) and answer.get("behavior") == "allow" else None


def _suggestions(rule_text: str | None) -> list[Message] | None:
    """What an "always" would save, in the protocol's form."""
    if rule_text is None:
        return None
    rule = parse_rule(rule_text, effect=RuleEffect.ALLOW, level="session", where="suggestion")
    if not isinstance(rule, PermissionRule):
        return None
    value = {"toolName": rule.tool, **({} if rule.specifier is None else {"ruleContent": rule.specifier})}
    return [{"type": "addRules", "rules": [value], "behavior": "allow", "destination": "localSettings"}]


def _rule_text(rule: Mapping[str, Any]) -> str:
    content = rule.get("ruleContent")
    return str(rule["toolName"]) if content is None else f"{rule['toolName']}({content})"


def _unanswered(subtype: str, why: str) -> UsageError:
    return UsageError(f"the program that started this run did not answer {subtype!r}: {why}")
