"""Requests and replies as values: what came, what goes back, step by step.

Decides how a fault changes the steps of an answer and how a refusal is written. Performs nothing: that is `transport.py` and `asgi.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from .cache import CacheUse
from .refusal import TYPE_BY_STATUS, Refusal
from .script import Fault
from .stream import frame

_SECRETS = ("authorization", "x-api-key", "cookie", "proxy-authorization")


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


def without_secrets(request: Request) -> Request:
    headers = {name: value for name, value in request.headers.items() if name not in _SECRETS}
    return Request(method=request.method, path=request.path, headers=headers, body=request.body)


def steps_of(events: tuple[bytes, ...], fault: Fault | None) -> tuple[Step, ...]:
    """The steps of an answer, with what goes wrong on the way."""
    whole = tuple(Data(event) for event in events)
    if fault is None or fault.usage is not None:
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


def json_reply(value: object, headers: tuple[tuple[str, str], ...], *, status: int = 200) -> Reply:
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Reply(status=status, headers=(("content-type", "application/json"), *headers), steps=(Data(data),))


def fault_refusal(fault: Fault, status: int) -> Refusal:
    wait = () if fault.retry_after is None else (("retry-after", f"{fault.retry_after:g}"),)
    kind = TYPE_BY_STATUS.get(status, "api_error")
    return Refusal(message=fault.message, status=status, type=kind, error_code=fault.code, headers=wait)


def script_refusal(message: str) -> Refusal:
    # No status of the real service: nobody may take a hole in the script for an illegal request, or try it again.
    return Refusal(
        message=f"emulator: {message}",
        status=501,
        type="emulator_script_error",
        headers=(("x-should-retry", "false"),),
    )
