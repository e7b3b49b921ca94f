"""The end of the fold: markers, scalars, headers, and the body as a rope.

Decides nothing about content. Refuses what is still illegal as a whole (law 7): a request that leaves here can be sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compositor.errors import IllegalRequestError, UsageError
from compositor.types.diagnostics import Severity
from compositor.types.messages import WireMessage
from compositor.types.provenance import WIRE, Attribution, Lane, Lifetime, Omission, Source
from compositor.types.request import CacheRegion, Chunk, Compiled, MarkerPlan, RequestOptions, Splice, Ttl

from .cache.breakpoints import Ground, plan_markers
from .cache.marks import Mark, block_end
from .messages.legality import Violation, check_end
from .messages.legality.head import check_size, option_fields
from .messages.legality.markers import check_planned
from .messages.legality.options import check_options, thinking_kind
from .prefix import Prefix, last_mark, mark_at
from .wire.canonical import encode_json

# Every option that becomes a body field, in wire order; the others become headers or steer the markers (R020, R021).
BODY_FIELDS: tuple[str, ...] = (
    "model",
    "max_tokens",
    "stream",
    "thinking",
    "tool_choice",
    "metadata",
    "temperature",
    "context_management",
    "output_config",
    "speed",
    "stop_sequences",
    "diagnostics",
    "compaction",
)

_MARKERS: dict[Ttl, bytes] = {
    Ttl.SHORT: b',"cache_control":{"type":"ephemeral"}',
    Ttl.LONG: b',"cache_control":{"type":"ephemeral","ttl":"1h"}',
}


def finish(prefix: Prefix, options: RequestOptions) -> Compiled:
    """Assemble the request. Raises `IllegalRequestError` when a wire rule is broken that no repair could mend."""
    head, tail = prefix.head, prefix.tail
    options, withheld = _without_unfit_thinking(prefix, options)
    before = len(prefix.settled) + (head.context is not None)
    ground = Ground(
        head=head,
        first=not len(prefix.settled),
        pinned=pinned_mark(prefix, options),
        earlier=last_mark(prefix),
        own=tail.mark,
    )
    markers = plan_markers(ground, options)
    scalars = _scalars(options)
    splices = tuple(_splice(marker, _marked_chunk(prefix, marker, before)) for marker in markers)
    size = _size(prefix, scalars, splices)
    fields = option_fields(options)
    _refuse_illegal(
        *prefix.head_violations,
        *prefix.violations,
        *tail.violations,
        *check_end(tail.legality, prefix.wire, tools=prefix.tool_names, thinking=thinking_kind(fields)),
        *check_options(fields, prefix.wire),
        *check_planned(markers, head, lambda index: _message_at(prefix, index, before)),
        *check_size(size, prefix.wire),
    )
    return Compiled(
        head=head,
        settled=prefix.settled,
        pending=tail.chunks,
        scalars=scalars,
        splices=splices,
        markers=markers,
        headers=_headers(options),
        options=options,
        size=size,
        view_digest=prefix.view_digest,
        omissions=(*head.parts.omissions, *prefix.omissions, *tail.omissions, *withheld),
    )


def _without_unfit_thinking(prefix: Prefix, options: RequestOptions) -> tuple[RequestOptions, tuple[Omission, ...]]:
    """Manual thinking is left out of a request whose open tool turn cannot begin with its thinking (L85, F05)."""
    answer = prefix.tail.legality.answer
    if answer is None or not answer.has_calls or answer.starts_with_thinking:
        return options, ()
    if thinking_kind(option_fields(options)) != "enabled":
        return options, ()
    reason = "the open tool turn does not begin with thinking that can be sent (L85); only this request goes without"
    return msgspec.structs.replace(options, thinking=None), (Omission("thinking", reason, "finish"),)


def _refuse_illegal(*violations: Violation) -> None:
    for violation in violations:
        if violation.severity is Severity.ERROR:
            raise IllegalRequestError(violation.message, rule=violation.rule, path=violation.path)


def _scalars(options: RequestOptions) -> Chunk:
    pieces: list[bytes] = []
    runs: list[tuple[int, Attribution]] = []
    for name in BODY_FIELDS:
        value = getattr(options, name)
        if value is None:
            continue
        if pieces:
            pieces.append(b",")
            runs.append((1, WIRE))
        field = b'"%b":%b' % (name.encode(), encode_json(value))
        pieces.append(field)
        runs.append(
            (len(field), Attribution(Source("option", name), Lane.SCALAR, Lifetime.TURN, "set for this request"))
        )
    return Chunk(data=b"".join(pieces), runs=tuple(runs))


def _marked_chunk(prefix: Prefix, marker: MarkerPlan, before: int) -> Chunk:
    match marker.region:
        case CacheRegion.TOOLS:
            return prefix.head.tools[marker.index]
        case CacheRegion.SYSTEM:
            return prefix.head.system[marker.index]
        case CacheRegion.MESSAGES:
            return _chunk_at(prefix, marker.index, before)


def _chunk_at(prefix: Prefix, index: int, before: int) -> Chunk:
    """The chunk of `messages[index]`; `before` counts the messages in front of the tail."""
    if index >= before:
        return prefix.tail.chunks[index - before]
    context = prefix.head.context
    if context is None:
        return prefix.settled[index]
    return prefix.settled[index - 1] if index else context


def pinned_mark(prefix: Prefix, options: RequestOptions) -> Mark | None:
    """The mark at the fork point (R257). Raises `UsageError` for a pin that is no message of this request."""
    if options.pin is None:
        return None
    own = prefix.head.context is not None
    if not 0 <= options.pin < own + len(prefix.settled) + len(prefix.tail.chunks):
        raise UsageError(f"a fork cannot be pinned at messages[{options.pin}]: there is no such message")
    return mark_at(prefix, options.pin - own) if options.pin >= own else None


def _message_at(prefix: Prefix, index: int, before: int) -> WireMessage:
    message = _chunk_at(prefix, index, before).message
    if message is None:
        raise UsageError(f"messages[{index}] was not made from a message")
    return message


def _splice(marker: MarkerPlan, chunk: Chunk) -> Splice:
    """The marker goes in front of the closing brace of the marked object, as its last key."""
    end = len(chunk.data)
    if marker.region is CacheRegion.MESSAGES:
        end = block_end(chunk, marker.block)
    insert = _MARKERS[marker.ttl]
    if marker.scope is not None:
        insert = insert[:-1] + b',"scope":' + encode_json(marker.scope) + b"}"
    return Splice(marker.region, marker.index, end - 1, insert)


def _headers(options: RequestOptions) -> tuple[tuple[str, str], ...]:
    headers = [("anthropic-version", options.api_version), ("content-type", "application/json")]
    if options.betas:
        headers.append(("anthropic-beta", ",".join(options.betas)))
    return tuple(headers)


def _size(prefix: Prefix, scalars: Chunk, splices: Sequence[Splice]) -> int:
    """The body's length in bytes, from sums that are carried along: nothing settled is looked at."""
    head = prefix.head
    messages = len(prefix.settled) + len(prefix.tail.chunks) + (head.context is not None)
    total = len(b'{"messages":[],}') + len(scalars.data) + sum(len(splice.insert) for splice in splices)
    total += prefix.size + sum(len(chunk.data) for chunk in prefix.tail.chunks) + max(messages - 1, 0)
    total += 0 if head.context is None else len(head.context.data)
    return total + _region_size(b'"tools":[],', head.tools + head.deferred) + _region_size(b'"system":[],', head.system)


def _region_size(frame: bytes, chunks: Sequence[Chunk]) -> int:
    if not chunks:
        return 0
    return len(frame) + sum(len(chunk.data) for chunk in chunks) + len(chunks) - 1
