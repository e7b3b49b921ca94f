"""How the sources of notes stood before a request that was sent, and how long it waited for each (R206, R207, R401).

Decides the lines; the journal holds the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compositor.types.gathering import FactState
from compositor.types.journal import SendRecord


def gathered_fields(record: SendRecord) -> list[dict[str, Any]]:
    """One object a source, in the order of their notes; times in seconds, sizes in bytes."""
    fields: list[dict[str, Any]] = msgspec.to_builtins(list(record.gathered))
    return fields


def gathered_lines(record: SendRecord) -> Iterator[str]:
    """The waiting time and what it was for; then every source that had nothing to give, with the reason."""
    if not record.gathered:
        return
    waited = sum(one.waited for one in record.gathered)
    parts = ", ".join(f"{one.name} {one.waited * 1e3:.1f}" for one in record.gathered)
    yield f"facts: the request waited {waited * 1e3:.1f} ms for them ({parts})"
    for one in record.gathered:
        if one.state is not FactState.FRESH:
            yield f"  {one.state.value}: {one.name}: {one.reason}"
