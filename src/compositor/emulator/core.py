"""The stand-in itself: a request in, an answer out, as values. No clock of its own, no socket, no chance.

Decides the order: is the address right, is the request legal, are its thinking blocks where they were, which turn of the script answers
it, what does the cache say. The same script and the same requests give the same bytes. Never waits: a reply says where to wait, `transport.py`
and `asgi.py` do it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from .account import Account, input_usage, origin_of, scope_of, sight_of, spoken, usage_of, with_server_results
from .address import Address, read_address
from .aws import event_stream
from .binding import check_replay, sealed_answer, without
from .cache import CacheUse
from .call import NO_USE, Call, Told, answer_of, iteration, joined, too_long
from .edits import edited
from .limits import check_limits, limit_headers
from .listing import models_page, one_model, unknown_model
from .profile import MIB, ProfileSource, ServiceProfile
from .refusal import Refusal
from .replies import (
    Data,
    Pause,
    Recorded,
    Reply,
    Request,
    Reset,
    Stall,
    Step,
    fault_refusal,
    json_reply,
    script_refusal,
    steps_of,
    without_secrets,
)
from .rules import check_request, circumstances
from .script import Fault, Script, ToolMissing, Turn, holds
from .speech import Speech, speech_of, stable_id
from .stream import Answer, document, frames

__all__ = ["Data", "Emulator", "Pause", "Recorded", "Reply", "Request", "Reset", "Stall", "Step"]


class Emulator:
    """One service that runs one script. `now` is its clock in seconds; `advance` moves it.

    `profile` holds for every model, or says what each model can do; a model it does not know is a 404.
    """

    def __init__(self, script: Script, profile: ServiceProfile | ProfileSource | None = None) -> None:
        self.now = 0.0
        self._script = script
        self._profile = profile or ServiceProfile()
        self._account = Account(script.limits, script.urls)
        self._place = 0
        self._summaries = 0
        self._faults: list[Fault] | None = None
        self._recorded: list[Recorded] = []

    @property
    def requests(self) -> tuple[Recorded, ...]:
        """Every request so far, oldest first."""
        return tuple(self._recorded)

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def answer(self, request: Request) -> Reply:
        """Judge and answer one request. Never raises for what a client sends."""
        request_id = f"req_emulated_{len(self._recorded) + 1:04d}"
        address = read_address(request.method, request.path)
        if address.call in {"models", "model"}:
            return self._list(request, request_id, address)
        call = self._admit(request, request_id, address)
        if isinstance(call, Refusal):
            return self._refuse(request, request_id, call)
        if address.call == "count_tokens":
            return self._count(call)
        self._account.levels = self._account.levels.refilled(self._script.limits, self.now)
        limited = check_limits(self._account.levels, self._script.limits)
        if limited is not None:
            return self._refuse(request, request_id, limited)
        if call.body.get("compaction"):
            return self._summarize(call)
        refusal = too_long(call)
        if refusal is not None:
            return self._refuse(request, request_id, refusal)
        if call.body["max_tokens"] == 0:
            return self._speak(call, Speech(stop_reason="max_tokens"))
        return self._play(call)

    # ------------------------------------------------------------------------------------------------------- judging

    def _admit(self, request: Request, request_id: str, address: Address) -> Call | Refusal:
        if not address.call:
            return Refusal(message=f"{request.method} {request.path}", status=404, type="not_found_error")
        if len(request.body) > _LARGEST_BODY:
            return _TOO_LARGE
        gateway = self._script.gateway
        headers = gateway.headers_in(request.headers)
        parsed = _parsed(request.body)
        if isinstance(parsed, Refusal):
            return parsed
        refusal = gateway.check(parsed)
        if refusal is not None:
            return refusal
        body = gateway.body_in(parsed)
        if address.model is not None:
            body = {"model": address.model, **body}
        profile = self._profile_of(body.get("model"))
        if isinstance(profile, Refusal):
            return profile
        return self._judge(request, address, body, id=request_id, headers=headers, profile=profile)

    def _judge(
        self,
        request: Request,
        address: Address,
        body: dict[str, Any],
        *,
        id: str,
        headers: Mapping[str, str],
        profile: ServiceProfile,
    ) -> Call | Refusal:
        urls = self._account.fetch(body)
        counting = address.call == "count_tokens"
        if counting and not profile.counts_tokens:
            return Refusal(message=f"{request.method} {request.path}", status=404, type="not_found_error")
        if len(request.body) > profile.body_limit:
            return _TOO_LARGE
        refusal = check_request(body, headers, profile, counting=counting)
        if refusal is not None:
            return refusal
        origin = origin_of(body, headers, urls)
        replayed = check_replay(body, profile, origin)
        if replayed.refusal is not None:
            return replayed.refusal
        sight = sight_of(profile, urls)
        seen = edited(without(body, replayed.dropped), sight)
        return Call(
            request=request,
            address=address,
            id=id,
            profile=profile,
            body=body,
            given=circumstances(body, headers, profile, counting=counting),
            sight=sight,
            origin=origin,
            scope=scope_of(headers, profile.isolation),
            seen=seen,
            transformations=replayed.transformations,
        )

    def _profile_of(self, model: object) -> ServiceProfile | Refusal:
        if isinstance(self._profile, ServiceProfile):
            return self._profile
        if not isinstance(model, str) or not model:
            return ServiceProfile()
        return self._profile(model) or unknown_model(model)

    # ------------------------------------------------------------------------------------------------------- playing

    def _play(self, call: Call) -> Reply:
        turn = self._turn(call)
        if turn is None:
            return self._refuse(call.request, call.id, script_refusal("the script has no turn left for this request"))
        speech = speech_of(turn, call.body, call.request.body, call.profile)
        if isinstance(speech, ToolMissing):
            return self._refuse(call.request, call.id, script_refusal(f"turn {self._place + 1}: {speech.reason}"))
        fault = self._next_fault(turn)
        if fault is not None and fault.status is not None:
            return self._refuse(call.request, call.id, fault_refusal(fault, fault.status))
        if fault is None or fault.is_whole:
            self._place += 1
            self._faults = None
        return self._speak(call, speech, fault, latency=turn.latency)

    def _turn(self, call: Call) -> Turn | None:
        """The next turn whose condition holds; those before it are passed over for good, or until the script begins anew."""
        turns = self._script.turns
        if self._script.repeat and self._place >= len(turns):
            self._place = 0
        while self._place < len(turns) and not holds(turns[self._place].when, call.body, call.given.betas):
            self._place += 1
            self._faults = None
        return turns[self._place] if self._place < len(turns) else None

    def _next_fault(self, turn: Turn) -> Fault | None:
        if self._faults is None:
            self._faults = [fault for fault in turn.faults for _ in range(fault.times)]
            self.advance(turn.wait)
        return self._faults.pop(0) if self._faults else None

    def _speak(self, call: Call, speech: Speech, fault: Fault | None = None, *, latency: float = 0.0) -> Reply:
        told = self._told(call, speech, latency)
        answer_id = stable_id("msg", call.request.body, 0)
        sealed = sealed_answer(told.content, call.body, call.origin, answer_id)
        extended = with_server_results(call.seen.body, sealed)
        use = told.use if extended is None else joined(told.use, self._use(call, extended, latency))
        usage = usage_of(use, told.speech.content, call.profile)
        if told.summary_cost is not None:
            usage["iterations"] = [told.summary_cost, iteration("message", usage)]
        if fault is not None and fault.usage is not None:
            usage |= fault.usage
        diagnosis = self._diagnosis(call, answer_id)
        answer = answer_of(call, sealed, told.speech, id=answer_id, usage=usage, diagnosis=diagnosis)
        return self._deliver(call, answer, use, fault)

    def _told(self, call: Call, speech: Speech, latency: float) -> Told:
        """What is said, behind a summary of the service where a threshold was reached (wire page 5.2)."""
        use = self._use(call, call.seen.body, latency)
        if not call.seen.summarizes:
            return Told(content=speech.content, speech=speech, use=use)
        summary = {"type": "compaction", "content": self._summary(), "encrypted_content": ""}
        cost = iteration("compaction", {**input_usage(use), "output_tokens": spoken([summary], call.profile)})
        if call.seen.pauses:
            return Told(content=(summary,), speech=Speech(stop_reason="compaction"), use=NO_USE, summary_cost=cost)
        if summary["content"] is not None:
            short = [{"role": "assistant", "content": [summary]}]
            use = self._use(call, {**call.seen.body, "messages": short}, latency)
        return Told(content=(summary, *speech.content), speech=speech, use=use, summary_cost=cost)

    def _use(self, call: Call, body: dict[str, Any], latency: float) -> CacheUse:
        return self._account.use(call.scope, body, call.sight, call.profile, now=self.now, latency=latency)

    def _diagnosis(self, call: Call, answer_id: str) -> Mapping[str, Any] | None:
        if not call.profile.diagnostics:
            return None
        return self._account.diagnose(call.scope, call.body, call.sight, call.given.betas, answer_id)

    def _summary(self) -> str | None:
        """What compaction writes this time."""
        summaries = self._script.summaries
        self._summaries += 1
        return summaries[min(self._summaries, len(summaries)) - 1] if summaries else None

    def _summarize(self, call: Call) -> Reply:
        """Compaction on demand: one signed block, nothing in the top-level counters (wire page 5.3)."""
        summary = self._summary()
        use = self._use(call, call.seen.body, 0.0)
        content = () if summary is None else ({"type": "compaction", "content": summary, "signature": ""},)
        answer_id = stable_id("msg", call.request.body, 0)
        sealed = sealed_answer(content, call.body, call.origin, answer_id)
        cost = iteration("compaction", {**input_usage(use), "output_tokens": spoken(content, call.profile)})
        usage = {**usage_of(NO_USE, (), call.profile), "iterations": [cost]}
        speech = Speech(stop_reason="compaction" if summary is not None else "end_turn")
        return self._deliver(call, answer_of(call, sealed, speech, id=answer_id, usage=usage), use, None)

    # ----------------------------------------------------------------------------------------------------- answering

    def _deliver(self, call: Call, answer: Answer, use: CacheUse, fault: Fault | None) -> Reply:
        gateway = self._script.gateway
        answer = structs.replace(
            answer, content=tuple(gateway.block_out(block, number) for number, block in enumerate(answer.content))
        )
        events = tuple(frames(answer)) if call.streams else (document(answer),)
        kind = "text/event-stream; charset=utf-8" if call.streams else "application/json"
        if call.address.aws and call.streams:
            events, kind = tuple(map(event_stream, events)), "application/vnd.amazon.eventstream"
        levels = self._account.levels.without(
            input_tokens=use.total - use.read, output_tokens=int(answer.usage["output_tokens"])
        )
        self._account.levels = levels
        limits = limit_headers(levels, self._script.limits) if call.profile.ratelimit_headers else ()
        self._record(Recorded(request=call.request, status=200, use=use))
        return Reply(
            status=200,
            headers=(("content-type", kind), ("request-id", call.id), *limits),
            steps=steps_of(events, fault),
        )

    def _count(self, call: Call) -> Reply:
        counted: dict[str, Any] = {"input_tokens": call.tokens}
        if call.body.get("context_management"):
            counted["context_management"] = {"original_input_tokens": call.seen.original_tokens}
        self._record(Recorded(request=call.request, status=200))
        return json_reply(counted, (("request-id", call.id),))

    def _list(self, request: Request, request_id: str, address: Address) -> Reply:
        lists = not isinstance(self._profile, ServiceProfile) or self._profile.lists_models
        found = models_page() if address.model is None else one_model(address.model)
        if not lists or isinstance(found, Refusal):
            missing = Refusal(message=f"GET {request.path}", status=404, type="not_found_error")
            return self._refuse(request, request_id, found if isinstance(found, Refusal) else missing)
        self._record(Recorded(request=request, status=200))
        return json_reply(found, (("request-id", request_id),))

    def _refuse(self, request: Request, request_id: str, refusal: Refusal) -> Reply:
        self._record(Recorded(request=request, status=refusal.status, refusal=refusal))
        envelope = refusal.envelope(request_id)
        if self._script.gateway.hide_details:
            envelope["error"].pop("details", None)
        return json_reply(envelope, (("request-id", request_id), *refusal.headers), status=refusal.status)

    def _record(self, recorded: Recorded) -> None:
        self._recorded.append(structs.replace(recorded, request=without_secrets(recorded.request)))


_LARGEST_BODY = 32 * MIB
_TOO_LARGE = Refusal(message="Request exceeds the maximum size", status=413, type="request_too_large", rule="L23")


def _parsed(data: bytes) -> dict[str, Any] | Refusal:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as problem:
        return Refusal(message=f"The request body is not valid JSON: {problem}", rule="W02")
    return parsed if isinstance(parsed, dict) else Refusal(message="Input should be a valid dictionary", rule="W02")
