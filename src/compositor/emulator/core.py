"""The stand-in itself: a request in, an answer out, as values. No clock of its own, no socket, no chance.

Decides the order: is the address right, is the request legal, which turn of the script answers it, what does the cache say. The
same script and the same requests give the same bytes. Never waits: a reply says where to wait, `transport.py` does it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from .cache import CacheUse, PromptCache, as_blocks, positions_of
from .profile import ServiceProfile
from .refusal import TYPE_BY_STATUS, Refusal
from .rules import check_request
from .script import Fault, Script, ToolMissing, Turn, holds, resolve_action
from .stream import Answer, document, frame, frames

_LARGEST_BODY = 32 * 1024 * 1024
_SECRETS = ("authorization", "x-api-key")


class Request(Struct, frozen=True, kw_only=True):
    """`headers` has lower-case names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Data(Struct, frozen=True):
    data: bytes


class Pause(Struct, frozen=True):
    seconds: float


class Stall(Struct, frozen=True):
    """Nothing more comes, and the connection stays open."""


class Reset(Struct, frozen=True):
    """The connection breaks here."""


Step: TypeAlias = Data | Pause | Stall | Reset


class Reply(Struct, frozen=True, kw_only=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]


class Recorded(Struct, frozen=True, kw_only=True):
    """One request as it came, without credentials, and what became of it. `use` is `None` when nothing was computed."""

    request: Request
    status: int
    use: CacheUse | None = None
    refusal: Refusal | None = None


class Emulator:
    """One account that runs one script. `now` is its clock in seconds; `advance` moves it."""

    def __init__(self, script: Script, profile: ServiceProfile | None = None) -> None:
        self.now = 0.0
        self._script = script
        self._profile = profile or ServiceProfile()
        self._cache = PromptCache()
        self._place = 0
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
        body = _parse(request)
        refusal = body if isinstance(body, Refusal) else check_request(body, request.headers, self._profile)
        if refusal is None and isinstance(body, dict):
            return self._play(request, request_id, body)
        return self._refuse(request, request_id, refusal or Refusal(message="Input should be a valid dictionary"))

    def _play(self, request: Request, request_id: str, body: dict[str, Any]) -> Reply:
        positions = positions_of(body, bytes_per_token=self._profile.bytes_per_token)
        total = positions[-1].tokens
        if total > self._profile.window:
            message = f"prompt is too long: {total} tokens > {self._profile.window} maximum"
            return self._refuse(request, request_id, Refusal(message=message, rule="L19"))
        if body["max_tokens"] == 0:
            return self._speak(request, request_id, body, _Speech((), "max_tokens"))
        turn = self._turn(body)
        if turn is None:
            return self._refuse(request, request_id, _script_refusal("the script has no turn left for this request"))
        speech = _speech(turn, body, request.body)
        if isinstance(speech, ToolMissing):
            return self._refuse(request, request_id, _script_refusal(f"turn {self._place + 1}: {speech.reason}"))
        fault = self._next_fault(turn)
        if fault is not None and fault.status is not None:
            return self._refuse(request, request_id, _fault_refusal(fault, fault.status))
        if fault is None or fault.slow is not None:
            self._place += 1
            self._faults = None
        return self._speak(request, request_id, body, speech, fault)

    def _turn(self, body: Mapping[str, Any]) -> Turn | None:
        """The next turn whose condition holds; those before it are passed over for good."""
        results = [block for block in as_blocks(body["messages"][-1]["content"]) if block.get("type") == "tool_result"]
        turns = self._script.turns
        while self._place < len(turns) and not holds(turns[self._place].when, results):
            self._place += 1
            self._faults = None
        return turns[self._place] if self._place < len(turns) else None

    def _next_fault(self, turn: Turn) -> Fault | None:
        if self._faults is None:
            self._faults = [fault for fault in turn.faults for _ in range(fault.times)]
            self.advance(turn.wait)
        return self._faults.pop(0) if self._faults else None

    def _speak(
        self, request: Request, request_id: str, body: Mapping[str, Any], speech: _Speech, fault: Fault | None = None
    ) -> Reply:
        profile = self._profile
        positions = positions_of(body, bytes_per_token=profile.bytes_per_token)
        use, self._cache = self._cache.use(positions, minimum=profile.cache_minimum, now=self.now)
        answer = Answer(
            id=_stable_id("msg", request.body, 0),
            model=body["model"],
            content=speech.content,
            stop_reason=speech.stop_reason,
            usage=_usage(use, speech, profile),
            cut=speech.stop_reason == "max_tokens",
        )
        streamed = bool(body.get("stream"))
        events = tuple(frames(answer)) if streamed else (document(answer),)
        kind = "text/event-stream; charset=utf-8" if streamed else "application/json"
        self._record(Recorded(request=request, status=200, use=use))
        return Reply(
            status=200, headers=(("content-type", kind), ("request-id", request_id)), steps=_steps(events, fault)
        )

    def _refuse(self, request: Request, request_id: str, refusal: Refusal) -> Reply:
        self._record(Recorded(request=request, status=refusal.status, refusal=refusal))
        headers = (("content-type", "application/json"), ("request-id", request_id), *refusal.headers)
        body = json.dumps(refusal.envelope(request_id)).encode()
        return Reply(status=refusal.status, headers=headers, steps=(Data(body),))

    def _record(self, recorded: Recorded) -> None:
        request = recorded.request
        headers = {name: value for name, value in request.headers.items() if name not in _SECRETS}
        bare = Request(method=request.method, path=request.path, headers=headers, body=request.body)
        self._recorded.append(
            Recorded(request=bare, status=recorded.status, use=recorded.use, refusal=recorded.refusal)
        )


class _Speech(Struct, frozen=True):
    content: tuple[dict[str, Any], ...]
    stop_reason: str


def _parse(request: Request) -> object:
    if request.method != "POST" or not request.path.endswith("/v1/messages"):
        return Refusal(message=f"{request.method} {request.path}", status=404, type="not_found_error")
    if len(request.body) > _LARGEST_BODY:
        message = "Request exceeds the maximum size"
        return Refusal(message=message, status=413, type="request_too_large", rule="L23")
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError) as problem:
        return Refusal(message=f"The request body is not valid JSON: {problem}")


def _speech(turn: Turn, body: Mapping[str, Any], data: bytes) -> _Speech | ToolMissing:
    content: list[dict[str, Any]] = []
    if turn.think is not None:
        # A mark of its own, so that a client which loses or changes it can be found out.
        signature = hashlib.sha256(f"{body['model']}\0{turn.think}".encode()).hexdigest()
        content.append({"type": "thinking", "thinking": turn.think, "signature": signature})
    if turn.say is not None:
        content.append({"type": "text", "text": turn.say})
    for number, action in enumerate(turn.do):
        call = resolve_action(action, body.get("tools") or [])
        if isinstance(call, ToolMissing):
            return call
        call_id = _stable_id("toolu", data, number)
        content.append({"type": "tool_use", "id": call_id, "name": call.name, "input": call.input})
    return _Speech(tuple(content), turn.stop or ("tool_use" if turn.do else "end_turn"))


def _stable_id(kind: str, body: bytes, number: int) -> str:
    """Unique over a whole conversation, also a resumed one: no two of its requests have the same bytes and an answer."""
    return f"{kind}_{hashlib.sha256(body).hexdigest()[:20]}{number:02d}"


def _usage(use: CacheUse, speech: _Speech, profile: ServiceProfile) -> dict[str, Any]:
    spoken = len(json.dumps(speech.content, ensure_ascii=False).encode()) if speech.content else 0
    return {
        "input_tokens": use.fresh,
        "cache_creation_input_tokens": use.written_5m + use.written_1h,
        "cache_read_input_tokens": use.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": use.written_5m,
            "ephemeral_1h_input_tokens": use.written_1h,
        },
        "output_tokens": -(-spoken // profile.bytes_per_token),
        "service_tier": "standard",
    }


def _steps(events: tuple[bytes, ...], fault: Fault | None) -> tuple[Step, ...]:
    whole = tuple(Data(event) for event in events)
    if fault is None:
        return whole
    if fault.slow is not None:
        return tuple(step for data in whole for step in (Pause(fault.slow), data))
    if fault.error is not None:
        error = frame("error", error={"type": fault.error, "message": fault.message})
        return (*whole[: fault.after], Data(error))
    if fault.torn is not None:
        torn = events[min(fault.torn, len(events) - 1)]
        return (*whole[: fault.torn], Data(torn[: len(torn) // 2]))
    if fault.stall is not None:
        return (*whole[: fault.stall], Stall())
    return (*whole[: fault.reset], Reset())


def _fault_refusal(fault: Fault, status: int) -> Refusal:
    wait = () if fault.retry_after is None else (("retry-after", f"{fault.retry_after:g}"),)
    kind = TYPE_BY_STATUS.get(status, "api_error")
    return Refusal(message=fault.message, status=status, type=kind, error_code=fault.code, headers=wait)


def _script_refusal(message: str) -> Refusal:
    # No status of the real service: nobody may take a hole in the script for an illegal request, or try it again.
    return Refusal(
        message=f"emulator: {message}",
        status=501,
        type="emulator_script_error",
        headers=(("x-should-retry", "false"),),
    )
