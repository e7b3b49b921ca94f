"""Requests with their answers as files: what `compositor record` writes and `compositor run --replay` plays back.

Decides the form of one pair, and that no credential is in it. `compositor check` reads the request's half.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from compositor.adapters.home import private_folder, write_private
from compositor.errors import ConfigError

KEPT_HEADERS = frozenset({"content-type", "anthropic-version", "anthropic-beta", "user-agent", "accept"})
"""Request headers that are written down. Everything else may be a secret, or says who somebody is."""

KEPT_ANSWER_HEADERS = ("content-type", "retry-after", "request-id", "anthropic-ratelimit-", "x-should-retry")
"""Beginnings of the headers of an answer that are written down."""


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer as it came. `text` is its body; `base64` where that is no UTF-8."""

    headers: dict[str, str]
    text: str = ""
    base64: str = ""

    def body(self) -> bytes:
        return base64.b64decode(self.base64) if self.base64 else self.text.encode()


class Pair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One exchange: `number` from 1, `body` the request byte for byte."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    status: int
    answer: Answer
    body: Raw = Raw(b"null")


def make_pair(
    number: int, request: tuple[str, str, Mapping[str, str], bytes], answer: tuple[int, Mapping[str, str], bytes]
) -> Pair:
    """A pair of a request (method, path, headers, body) and an answer (status, headers, body), without secrets."""
    method, path, headers, body = request
    status, answered, data = answer
    try:
        said = Answer(headers=_kept_answer(answered), text=data.decode())
    except UnicodeDecodeError:
        said = Answer(headers=_kept_answer(answered), base64=base64.b64encode(data).decode())
    return Pair(
        number=number,
        method=method,
        path=path,
        headers={name.lower(): value for name, value in headers.items() if name.lower() in KEPT_HEADERS},
        status=status,
        answer=said,
        body=Raw(body if _is_json(body) else msgspec.json.encode(body.decode("utf-8", "replace"))),
    )


def write_pair(folder: Path, pair: Pair) -> Path:
    """Store a pair under its number, readable by its owner alone."""
    path = private_folder(folder) / f"{pair.number:04}.json"
    write_private(path, msgspec.json.encode(pair) + b"\n")
    return path


def read_pairs(folder: Path) -> tuple[Pair, ...]:
    """The pairs of a folder in their order. Raises `ConfigError` for a folder without any, and for a file that is none."""
    pairs = [_read(path) for path in sorted(folder.glob("*.json"))]
    if not pairs:
        raise ConfigError(
            "there is no recorded request in it", path=str(folder), hint="`compositor record` writes such folders"
        )
    return tuple(sorted(pairs, key=lambda pair: pair.number))


def _read(path: Path) -> Pair:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Pair)
    except (OSError, msgspec.MsgspecError) as problem:
        raise ConfigError(f"This is no recorded request with its answer: {problem}", path=str(path)) from problem


def _kept_answer(headers: Mapping[str, str]) -> dict[str, str]:
    lower = ((name.lower(), value) for name, value in headers.items())
    return {name: value for name, value in lower if name.startswith(KEPT_ANSWER_HEADERS)}


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def messages_only(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """The pairs that asked for an answer of the model; counting and listing are left out."""
    return tuple(pair for pair in pairs if pair.path.rstrip("/").endswith("/messages"))
