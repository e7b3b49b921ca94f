"""The open table of attachment kinds: a row each, in the files of their categories (R195).

Decides nothing but the order and what a kind without a row is: it passes and is kept, so that an embedder can bring one in (R338, R422).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from compositor.types.provenance import Lane

from . import background, capabilities, editor, expansion, files, hooks, instructions, modes, restored, thread
from .kinds import Category, Kind, Restore, Speaker, Trigger

KINDS: Mapping[str, Kind] = {
    **expansion.ROWS,
    **files.ROWS,
    **instructions.ROWS,
    **capabilities.ROWS,
    **modes.ROWS,
    **editor.ROWS,
    **background.ROWS,
    **hooks.ROWS,
    **thread.ROWS,
    **restored.ROWS,
}

PASSES = Kind(
    about="a kind that has no row",
    category=Category.THREAD,
    speaker=Speaker.AGENT,
    trigger=Trigger.ARRIVAL,
    restore=Restore.KEEP,
)


def kind_of(name: str) -> Kind:
    """The row of a kind; one that passes by default for all that have none."""
    return KINDS.get(name, PASSES)


def wished_lane(name: str) -> Lane:
    """The lane that a kind would like. A system message lends its words the weight of the operator: only the client's own may (R220)."""
    row = kind_of(name)
    return row.lane if row.speaker is Speaker.CLIENT else Lane.REMINDER


def guard_problem(name: str, payload: Raw) -> str | None:
    """Why a stored payload cannot be taken up again, or `None` when it can (R337)."""
    guard = kind_of(name).guard
    if guard is None:
        return None
    try:
        msgspec.json.decode(payload, type=guard)
    except msgspec.MsgspecError as problem:
        return str(problem)
    return None
