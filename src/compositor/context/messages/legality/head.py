"""The rules of everything beside the messages, for our own values: head, options, planned markers.

Decides which pieces are judged together. A caller that keeps a head over many requests judges `check_regions` once for
each head and the rest with each request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from compositor.types.messages import WireMessage
from compositor.types.request import Head, MarkerPlan, RequestOptions

from .markers import check_planned
from .options import check_options
from .rules import Violation
from .tool_rules import check_system, check_tools
from .wire_context import MIB, WireContext

_OPTION_FIELDS = ("model", "max_tokens", "stream", "temperature", "speed")
_RAW_FIELDS = ("thinking", "tool_choice", "metadata", "context_management", "output_config", "compaction")


def check_head(
    head: Head,
    options: RequestOptions,
    markers: Sequence[MarkerPlan],
    context: WireContext,
    *,
    message_at: Callable[[int], WireMessage] | None = None,
) -> tuple[Violation, ...]:
    """Tools, system, scalars and markers. `message_at` gives a message by its index on the wire, to look at what is marked."""
    return (
        *check_regions(head, context),
        *check_options(option_fields(options), context),
        *check_planned(markers, head, message_at),
    )


def check_regions(head: Head, context: WireContext) -> tuple[Violation, ...]:
    """Tools and system alone: the same for every request of one head."""
    tools = [msgspec.json.decode(chunk.data) for chunk in (*head.tools, *head.deferred)]
    system = [msgspec.json.decode(chunk.data) for chunk in head.system]
    return (*check_tools(tools, context), *check_system(system, context))


def check_size(size: int, context: WireContext) -> Iterator[Violation]:
    """The size of the body in bytes (L23)."""
    limit = context.body_limit
    if size > limit:
        yield Violation("L23", "body", f"{size} bytes are above {limit // MIB} MB")


def option_fields(options: RequestOptions) -> dict[str, Any]:
    """The scalars as they will stand in the body, decoded."""
    fields: dict[str, Any] = {name: getattr(options, name) for name in _OPTION_FIELDS}
    for name in _RAW_FIELDS:
        raw = getattr(options, name)
        fields[name] = None if raw is None else msgspec.json.decode(raw)
    fields["stop_sequences"] = None if options.stop_sequences is None else list(options.stop_sequences)
    return {name: value for name, value in fields.items() if value is not None}
