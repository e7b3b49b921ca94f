"""The person at the editor: permission for a call, and answers to questions.

Decides which answers are offered and what counts as a yes: the one option that says so, and nothing else (law 7).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from acp import schema
from acp.exceptions import RequestError
from acp.helpers import text_block, tool_content

from compositor.adapters.session_grants import SessionGrants
from compositor.errors import CompositorError
from compositor.ports import Modes, Permission, Question
from compositor.types.verdicts import PermissionMode

from .showing import asked_about

_ALLOW, _SESSION, _ALWAYS, _EDITS, _REJECT = (
    "allow_once",
    "allow_session",
    "allow_always",
    "accept_edits",
    "reject_once",
)
_EDITORS = frozenset({"Edit", "Write", "NotebookEdit"})


_KINDS: Mapping[str, schema.PermissionOptionKind] = {
    _ALLOW: "allow_once",
    _SESSION: "allow_always",
    _ALWAYS: "allow_always",
    _EDITS: "allow_always",
    _REJECT: "reject_once",
}


class EditorPerson:
    """Asks one thing at a time, behind everything that was shown before (`flush`).

    `grants` keeps the rules of answers that last, `modes` is the mode of the session once it runs.
    """

    def __init__(
        self, client: Any, session_id: str, cwd: str, flush: Callable[[], Awaitable[None]], grants: SessionGrants
    ) -> None:
        self._client = client
        self.grants = grants
        self.modes: Modes | None = None
        self._session = session_id
        self._cwd = cwd
        self._flush = flush
        self._turn = anyio.Lock()

    async def ask(self, permission: Permission) -> bool:
        offered = {_ALLOW: "Allow once", **self._lasting(permission), _REJECT: "Reject"}
        options = [
            schema.PermissionOption(option_id=option, name=name, kind=_KINDS[option])
            for option, name in offered.items()
        ]
        chosen = await self._choose(asked_about(permission.call, permission.reason, self._cwd), options)
        if chosen not in offered or chosen == _REJECT:
            return False
        self._keep(chosen, permission.suggestion)
        return True

    def _lasting(self, permission: Permission) -> dict[str, str]:
        """The answers that last, each with the rule that it makes."""
        rule = permission.suggestion
        if rule is not None:
            return {_SESSION: f"Allow {rule} for this session", _ALWAYS: f"Always allow {rule} in this project"}
        if permission.call.name in _EDITORS and self.modes is not None and self.modes.mode is PermissionMode.DEFAULT:
            return {_EDITS: "Allow all edits for this session"}
        return {}

    def _keep(self, chosen: str | None, rule: str | None) -> None:
        """What cannot be kept costs the lasting part of an answer alone."""
        try:
            if chosen == _SESSION and rule is not None:
                self.grants.give(rule)
            elif chosen == _ALWAYS and rule is not None:
                self.grants.save(rule)
            elif chosen == _EDITS and self.modes is not None:
                self.modes.change(PermissionMode.ACCEPT_EDITS)
        except (CompositorError, OSError) as problem:
            logging.getLogger(__name__).warning("the answer was not kept: %s", problem)

    async def answer(self, question: Question) -> str | None:
        """One of the options; a question without options, or with several answers, needs words, which this protocol has no way to ask for."""
        if not question.options:
            return None
        call = schema.ToolCallUpdate(
            tool_call_id=f"question-{uuid.uuid4()}",
            title=question.text,
            kind="other",
            status="pending",
            content=[
                tool_content(text_block(f"{label}: {about}" if about else label)) for label, about in question.options
            ],
        )
        options = [
            schema.PermissionOption(option_id=str(number), name=label, kind="allow_once")
            for number, (label, _) in enumerate(question.options)
        ]
        none = schema.PermissionOption(option_id=_REJECT, name="None of these", kind="reject_once")
        chosen = await self._choose(call, [*options, none])
        known = {str(number): label for number, (label, _) in enumerate(question.options)}
        return known.get(chosen or "")

    async def _choose(self, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]) -> str | None:
        """The id of the chosen option; `None` where the person closed the question or the editor could not ask it."""
        async with self._turn:
            await self._flush()
            try:
                response = await self._client.request_permission(
                    session_id=self._session, tool_call=call, options=options
                )
            except (RequestError, ConnectionError) as problem:
                logging.getLogger(__name__).warning("the editor could not ask: %s", problem)
                return None
        outcome = response.outcome
        return outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else None
