"""What a run tells a program: its messages as they happen, and the one result that each turn ends with.

Decides what a result says and when a turn counts as a success. Prints through the function it is given, one message a call.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from compositor.config.price import billed, total_cost
from compositor.loop.answer_form import FormedAnswer, parse_form, read_answer
from compositor.loop.effects import EndReason
from compositor.opened import Opened
from compositor.runtime.events import AgentEvent, AnswerEnded, RequestStarted, Streamed, TurnResult
from compositor.types.usage import Usage, add_usage

from .messages import Message, Surroundings, event_message, init_message, stream_message, usage_fields

_SUBTYPES = {
    EndReason.COMPLETED: "success",
    EndReason.MAX_TURNS: "error_max_turns",
    EndReason.BUDGET: "error_max_budget_usd",
}
# Where the protocol has a word of its own for how a turn ended.
_REASONS = {EndReason.BUDGET: "budget_exhausted"}


class Reporting(Struct, frozen=True, kw_only=True):
    """`write` prints one message. `lines`: everything as it happens, not the results alone; `partial`: pieces of answers too.

    `now` gives seconds on a clock that never goes back.
    """

    write: Callable[[Message], None]
    now: Callable[[], float]
    lines: bool = True
    partial: bool = False


class _Turn(Struct, kw_only=True):
    """What was seen of the turn so far. Times in seconds; `asked_at` is set while the model is asked."""

    begun: float
    prompt_ids: tuple[str, ...] = ()
    asked_at: float | None = None
    asked_for: float = 0.0
    stop_reason: str | None = None
    usage: Usage = Usage()


class RunReport:
    """One run, watched. A turn is what stands between `begin` and `end`."""

    def __init__(self, opened: Opened, how: Reporting) -> None:
        self._opened = opened
        self._how = how
        schema = opened.flags.json_schema
        self._form = None if schema is None else parse_form(schema)
        self.is_success = True
        self._turn = _Turn(begun=how.now())
        self._is_begun = False

    def begin(self, found: Surroundings = Surroundings(), *, mode: str = "", prompt_id: str = "") -> None:  # noqa: B008  (a frozen value)
        """A turn begins; `prompt_id` is the uuid that the prompt came with."""
        self._turn = _Turn(begun=self._how.now(), prompt_ids=(prompt_id,) if prompt_id else ())
        self._is_begun = True
        if self._how.lines:
            self.say(init_message(self._opened, found, mode or self._opened.contract.policy.mode.value))

    def __call__(self, event: AgentEvent) -> None:
        match event:
            case RequestStarted():
                self._stop_clock()
                self._turn.asked_at = self._how.now()
            case AnswerEnded(message=message):
                self._stop_clock()
                self._turn.stop_reason = message.stop_reason
                self._turn.usage = add_usage(self._turn.usage, message.usage)
            case Streamed(event=piece) if self._how.lines and self._how.partial:
                self.say({**stream_message(piece), **self._prompt_fields()})
            case _:
                pass
        told = event_message(event) if self._how.lines else None
        if told is not None:
            self.say({**told, **(self._prompt_fields() if told["type"] == "assistant" else {})})

    def end(self, result: TurnResult) -> None:
        """Print the result of a turn; `is_success` says how the last one ended."""
        self._stop_clock()
        formed = FormedAnswer() if self._form is None else read_answer(self._form, result.text)
        completed = result.reason is EndReason.COMPLETED
        misses = completed and bool(formed.problem)
        subtype = _SUBTYPES.get(result.reason, "error_during_execution")
        reason, errors = _REASONS.get(result.reason, result.reason.value), [result.detail] if result.detail else []
        if misses:
            subtype, reason = "error_max_structured_output_retries", "structured_output_retry_exhausted"
            errors = [f"the answer has not the form that was asked for: {formed.problem}"]
        has_value = self._form is not None and completed and not misses
        fields = {
            "type": "result",
            "subtype": subtype,
            "is_error": subtype != "success",
            **self._times(),
            "num_turns": result.requests,
            "result": result.text,
            **({"errors": errors} if errors else {}),
            "stop_reason": self._turn.stop_reason,
            "terminal_reason": reason,
            **self._bill(result.usages, result.models),
            "permission_denials": [
                {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.input} for call in result.denied
            ],
            **({"structured_output": formed.value} if has_value else {}),
            **self._prompt_fields(),
        }
        self.is_success = subtype == "success"
        self.say(fields)

    def fail(self, sentence: str, reason: str = "error") -> None:
        """The result of a turn that an error ended, before it could begin or where no turn could handle it; it begins and ends like every other."""
        if not self._is_begun:
            self.begin()
        self._stop_clock()
        fields = {
            "type": "result",
            "subtype": "error_during_execution",
            "is_error": True,
            **self._times(),
            "num_turns": 0,
            "errors": [sentence],
            "stop_reason": None,
            "terminal_reason": reason,
            **self._bill((), ()),
            "permission_denials": [],
            **self._prompt_fields(),
        }
        self.say(fields)

    def say(self, message: Message) -> None:
        """Print a message of this session; one without a uuid gets one."""
        self._how.write(
            {**message, "session_id": self._opened.header.session_id, "uuid": message.get("uuid") or str(uuid.uuid4())}
        )

    def _stop_clock(self) -> None:
        turn = self._turn
        if turn.asked_at is not None:
            turn.asked_for += self._how.now() - turn.asked_at
            turn.asked_at = None

    def _times(self) -> dict[str, int]:
        took = self._how.now() - self._turn.begun
        return {"duration_ms": round(took * 1000), "duration_api_ms": round(self._turn.asked_for * 1000)}

    def _bill(self, usages: Sequence[Usage], models: Sequence[str]) -> dict[str, Any]:
        """Tokens of the conversation's own answers in `usage`; of every request, those aside too, in `modelUsage` and the money, by model."""
        said = self._opened.contract.settings.compositor.prices
        by_model: dict[str, list[Usage]] = {}
        for usage, model in zip(usages, models, strict=True):
            by_model.setdefault(model, []).append(usage)
        return {
            "total_cost_usd": billed(usages, models, said),
            "usage": usage_fields(self._turn.usage),
            "modelUsage": {model: self._used(model, usages) for model, usages in by_model.items()},
        }

    def _used(self, model: str, usages: Sequence[Usage]) -> dict[str, Any]:
        contract = self._opened.contract
        total = functools.reduce(add_usage, usages, Usage())
        return {
            "inputTokens": total.input_tokens,
            "outputTokens": total.output_tokens,
            "cacheReadInputTokens": total.read,
            "cacheCreationInputTokens": total.written,
            "webSearchRequests": 0,
            "costUSD": total_cost(usages, model, contract.settings.compositor.prices),
            "contextWindow": contract.window.tokens,
            "maxOutputTokens": contract.max_output,
        }

    def _prompt_fields(self) -> Message:
        """Which prompt this answers, for a program that gave its prompts ids."""
        ids = self._turn.prompt_ids
        return {"user_message_uuid": ids[-1], "user_message_uuids": ids} if ids else {}
