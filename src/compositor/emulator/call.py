"""One admitted request and what its answer is made of: the values between judging and delivering.

Decides whether the prompt fits the window, and the fields of an answer beside its content. Keeps no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from .address import Address
from .binding import Origin
from .cache import CacheUse
from .edits import Edited, tokens_of
from .grammar import Circumstances
from .profile import ServiceProfile
from .refusal import Refusal
from .rendering import Sight
from .replies import Request
from .shapes import BINDING
from .speech import Speech
from .stream import Answer

NO_USE = CacheUse(read=0, written_5m=0, written_1h=0, fresh=0)


class Call(Struct, frozen=True, kw_only=True):
    """One request on its way: what came, and everything that is known about it so far."""

    request: Request
    address: Address
    id: str
    profile: ServiceProfile
    body: dict[str, Any]
    given: Circumstances
    sight: Sight
    origin: Origin
    scope: str
    seen: Edited
    transformations: tuple[Mapping[str, str], ...] = ()

    @property
    def tokens(self) -> int:
        """Input tokens as the model sees them."""
        return tokens_of(self.seen.body, self.sight)

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream")) if self.address.stream is None else self.address.stream


class Told(Struct, frozen=True, kw_only=True):
    """What an answer says. `speech` is the script's part of `content`; `summary_cost` is that of a summary before it."""

    content: tuple[dict[str, Any], ...]
    speech: Speech
    use: CacheUse
    summary_cost: Mapping[str, Any] | None = None


def too_long(call: Call) -> Refusal | None:
    """The refusal of a prompt that does not fit (L19, L20)."""
    total, window = call.tokens, call.profile.window
    if total > window:
        return Refusal(message=f"prompt is too long: {total} tokens > {window} maximum", rule="L19")
    limit = call.body["max_tokens"]
    if call.profile.counts_max_tokens and total + limit > window:
        said = f"input length and `max_tokens` exceed context limit: {total} + {limit} > {window}"
        return Refusal(message=said, rule="L20")
    return None


def joined(first: CacheUse, second: CacheUse) -> CacheUse:
    """The same request with a marker more: read as before, and what the second pass wrote in addition."""
    return structs.replace(
        second,
        read=first.read,
        written_5m=first.written_5m + second.written_5m,
        written_1h=first.written_1h + second.written_1h,
        fresh=0,
    )


def iteration(kind: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    """One entry of `usage.iterations`."""
    return {"type": kind, **{name: usage[name] for name in _ITERATION}}


_ITERATION = (
    "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "output_tokens",
)  # fmt: skip


def answer_of(
    call: Call,
    content: tuple[dict[str, Any], ...],
    speech: Speech,
    *,
    id: str,
    usage: Mapping[str, Any],
    diagnosis: Mapping[str, Any] | None = None,
) -> Answer:
    opening: dict[str, Any] = {}
    closing: dict[str, Any] = {}
    if call.profile.diagnostics:
        opening["diagnostics"] = diagnosis
    if BINDING in call.given.betas:
        opening["input_transformations"] = list(call.transformations)
    if call.body.get("context_management"):
        closing["context_management"] = {"applied_edits": list(call.seen.applied)}
    return Answer(
        id=id,
        model=call.body["model"],
        content=content,
        stop_reason=speech.stop_reason,
        stop_sequence=speech.stop_sequence,
        stop_details=speech.stop_details,
        usage=usage,
        opening=opening,
        closing=closing,
        cut=speech.stop_reason == "max_tokens",
    )
