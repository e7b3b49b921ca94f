"""Messages in one piece: a client that stores each block of an answer on its own lets parallel results fork the chain.

Decides which records make one message, and which results and attachments beside the chain belong to it. Repairs no pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TypeVar

from msgspec import Struct, structs

from compositor.types.blocks import ContentBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry

T = TypeVar("T")
_SPOKEN = (UserEntry, AssistantEntry)


class Rejoined(Struct, frozen=True):
    """The entries of a path in order; `used` holds every record id that went into them."""

    entries: list[TranscriptEntry]
    joined: dict[str, tuple[str, ...]]
    used: set[str]


def rejoin(
    nodes: Mapping[str, TranscriptEntry],
    parents: Mapping[str, str | None],
    chain: Sequence[str],
    elsewhere: Set[str] = frozenset(),
) -> Rejoined:
    """The entries of `chain`, every message in one piece, with the results that the walk missed behind it.

    A client that stores each block of an answer on its own lets the results of parallel calls fork the chain. `elsewhere`
    are entries whose place is known already: they belong to no message of the chain.
    """
    used = set(chain)
    entries = [nodes[uuid] for uuid in chain]
    children = _children_beside(nodes, parents, used | elsewhere)
    # What hangs behind a chosen leaf came after it.
    children.pop(chain[-1], None)
    messages = [entry.message_id for entry in entries if isinstance(entry, AssistantEntry)]
    if not children and len(set(messages)) == len(messages):
        return Rejoined(entries, {}, used)
    ordered: list[TranscriptEntry] = []
    joined: dict[str, tuple[str, ...]] = {}
    for stretch in _stretches(entries):
        first = stretch[0]
        if not isinstance(first, AssistantEntry):
            ordered += stretch
            continue
        whole = _with_beside(stretch, first.message_id, children) if children else stretch
        used.update(entry.uuid for entry in whole)
        parts = [entry for entry in whole if isinstance(entry, AssistantEntry)]
        message = join_parts(parts) if len(parts) > 1 else first
        if len(parts) > 1:
            joined[message.uuid] = tuple(part.uuid for part in parts)
        ordered.append(message)
        ordered += [entry for entry in whole if not isinstance(entry, AssistantEntry)]
    return Rejoined(ordered, joined, used)


def _stretches(chain: Sequence[TranscriptEntry]) -> list[list[TranscriptEntry]]:
    """The chain in pieces: an answer with what followed it until the next answer or prompt, or what stands before one."""
    stretches: list[list[TranscriptEntry]] = []
    message_id: str | None = None
    for entry in chain:
        begins = _is_prompt(entry) or (isinstance(entry, AssistantEntry) and entry.message_id != message_id)
        if isinstance(entry, AssistantEntry):
            message_id = entry.message_id
        elif begins:
            message_id = None
        if begins or not stretches:
            stretches.append([])
        stretches[-1].append(entry)
    return stretches


def _children_beside(
    nodes: Mapping[str, TranscriptEntry], parents: Mapping[str, str | None], placed: Set[str]
) -> dict[str, list[TranscriptEntry]]:
    children: dict[str, list[TranscriptEntry]] = defaultdict(list)
    if len(placed) == len(nodes):
        return children
    for uuid, parent in parents.items():
        if parent is not None and uuid not in placed:
            children[parent].append(nodes[uuid])
    return children


def _with_beside(
    stretch: list[TranscriptEntry], message_id: str, children: Mapping[str, list[TranscriptEntry]]
) -> list[TranscriptEntry]:
    """The stretch with what belongs to its message but is not on the chain, each entry behind its parent.

    These are other parts of the message, the results of unanswered calls, and attachments that hang on either.
    """
    distance = {entry.uuid: place for place, entry in enumerate(stretch)}
    answered = {call for entry in stretch for call in answers_of(entry)}
    closed: set[str] = set()
    found, level = list(stretch), stretch
    while level:
        above = level
        level = []
        for entry in above:
            for child in children.get(entry.uuid, ()):
                if child.uuid not in distance and (
                    _is_of_message(child, message_id, answered)
                    or (not isinstance(child, _SPOKEN) and _is_closed(child, message_id, answered, children, closed))
                ):
                    distance[child.uuid] = distance[entry.uuid] + 1
                    answered |= answers_of(child)
                    level.append(child)
        found += level
    return sorted(found, key=lambda entry: (distance[entry.uuid], entry.time))


def _is_of_message(entry: TranscriptEntry, message_id: str, answered: set[str]) -> bool:
    """Another part of the message, or the result of a call of it that has none."""
    if isinstance(entry, AssistantEntry):
        return entry.message_id == message_id
    answers = answers_of(entry)
    return bool(answers) and not answers & answered


def _is_closed(
    entry: TranscriptEntry,
    message_id: str,
    answered: set[str],
    children: Mapping[str, list[TranscriptEntry]],
    closed: set[str],
) -> bool:
    """No other message hangs below: an attachment that somebody went on from is part of another branch.

    `closed` remembers what was found closed before.
    """
    seen: list[str] = []
    below = [entry]
    while below:
        one = below.pop()
        if one.uuid in closed or _is_of_message(one, message_id, answered):
            continue
        if isinstance(one, _SPOKEN):
            return False
        seen.append(one.uuid)
        below += children.get(one.uuid, ())
    closed.update(seen)
    return True


def join_parts(parts: Sequence[AssistantEntry]) -> AssistantEntry:
    """The message made of all its records; it keeps the id of the last one, which the next entry names as its parent."""
    return structs.replace(
        parts[-1],
        parent=parts[0].parent,
        content=_joined_content(parts),
        stop_reason=_newest([part.stop_reason for part in parts]),
        usage=_newest([part.usage for part in parts]),
        prefix_digest=parts[0].prefix_digest,
    )


def _joined_content(parts: Iterable[AssistantEntry]) -> tuple[ContentBlock, ...]:
    """All blocks in order. A record that repeats what came before and adds to it replaces it; a call is taken once."""
    content: tuple[ContentBlock, ...] = ()
    for part in parts:
        if part.content[: len(content)] == content:
            content = part.content
            continue
        calls = {block.id for block in content if isinstance(block, ToolUseBlock)}
        content += tuple(block for block in part.content if not (isinstance(block, ToolUseBlock) and block.id in calls))
    return content


def _newest(values: Sequence[T | None]) -> T | None:
    return next((value for value in reversed(values) if value is not None), None)


def _is_prompt(entry: TranscriptEntry) -> bool:
    return isinstance(entry, UserEntry) and not answers_of(entry)


def answers_of(entry: TranscriptEntry) -> set[str]:
    """The calls that a user entry holds results for."""
    if not isinstance(entry, UserEntry):
        return set()
    return {block.tool_use_id for block in entry.content if isinstance(block, ToolResultBlock)}
