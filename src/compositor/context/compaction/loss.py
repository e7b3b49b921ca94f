"""What a compaction lost: every standing thing is looked for in the bytes of the next request (F27).

Decides what counts as standing and whether it is there. Reads request bytes and nothing else: what the model remembers is no evidence.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from msgspec import Struct

from compositor.context.wire.canonical import encode_json
from compositor.types.request import Compiled


class Kind(enum.StrEnum):
    """What must not get lost silently."""

    RULE = "rule"
    FILE = "file"
    TODO = "todo"
    PLAN = "plan"
    SKILL = "skill"
    TOOL = "tool"
    PIN = "pin"


class Standing(Struct, frozen=True):
    """One thing that held before. `sign` is a text that is in a request which has it, in one string of the JSON."""

    kind: Kind
    name: str
    sign: str


class LossReport(Struct, frozen=True, kw_only=True):
    present: tuple[Standing, ...] = ()
    lost: tuple[Standing, ...] = ()


def standing_things(
    *,
    rules: Iterable[tuple[str, str]] = (),
    files: Iterable[str] = (),
    tasks: Iterable[str] = (),
    plan: str = "",
    skills: Iterable[str] = (),
    tools: Iterable[str] = (),
    pins: Iterable[str] = (),
) -> tuple[Standing, ...]:
    """What holds when a conversation is compacted.

    `rules` are instruction files as (path, text), `files` paths in work, `tasks` open tasks, `plan` its path, `skills` and `tools` names of
    what was invoked or found, `pins` texts. The sign of a rule or a pin is its longest line.
    """
    return (
        *(Standing(Kind.RULE, path, _sign(text)) for path, text in rules if _sign(text)),
        *(Standing(Kind.FILE, path, path) for path in files),
        *(Standing(Kind.TODO, task, task) for task in tasks),
        *((Standing(Kind.PLAN, plan, plan),) if plan else ()),
        *(Standing(Kind.SKILL, name, name) for name in skills),
        *(Standing(Kind.TOOL, name, name) for name in tools),
        *(Standing(Kind.PIN, _sign(text), _sign(text)) for text in pins if _sign(text)),
    )


def _sign(text: str) -> str:
    return max((line.strip() for line in text.splitlines()), key=len, default="")


def find_losses(standing: Sequence[Standing], compiled: Compiled) -> LossReport:
    """Which of `standing` are in the bytes of `compiled`: its tools, system prompt and messages."""
    regions = [chunk.data for chunk in (*compiled.head.tools, *compiled.head.deferred, *compiled.head.system)]
    regions += [chunk.data for chunk in compiled.message_chunks()]
    found = [is_in(one.sign, regions) for one in standing]
    return LossReport(
        present=tuple(one for one, there in zip(standing, found, strict=True) if there),
        lost=tuple(one for one, there in zip(standing, found, strict=True) if not there),
    )


def is_in(sign: str, regions: Iterable[bytes]) -> bool:
    """Whether `sign` stands in one of the JSON texts, as it is escaped there."""
    needle = encode_json(sign)[1:-1]
    return bool(needle) and any(needle in data for data in regions)
