"""The person at the editor: permission for a call, and answers to questions.

Decides which answers are offered and what counts as a yes: the one option that says so, and nothing else (law 7).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from acp import schema
from acp.exceptions import RequestError
from acp.helpers import text_block, tool_content

from compositor.ports import Permission, Question

from .showing import asked_about

_ALLOW, _REJECT = "allow_once", "reject_once"


class EditorPerson:
    """Asks one thing at a time, behind everything that was shown before (`flush`)."""

    def __init__(self, client: Any, session_id: str, cwd: str, flush: Callable[[], Awaitable[None]]) -> None:
        self._client = client
        self._session = session_id
        self._cwd = cwd
        self._flush = flush
        self._turn = anyio.Lock()

    async def ask(self, permission: Permission) -> bool:
        options = [
            schema.PermissionOption(option_id=_ALLOW, name="Allow once", kind="allow_once"),
            schema.PermissionOption(option_id=_REJECT, name="Reject", kind="reject_once"),
        ]
        return await self._choose(asked_about(permission.call, permission.reason, self._cwd), options) == _ALLOW

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
