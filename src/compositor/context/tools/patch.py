"""The difference of two texts as hunks of lines.

Decides how a change is cut into hunks for the structured result of Edit and Write. Never touches a file.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from msgspec import Struct

CONTEXT = 3
"""Unchanged lines shown around a change."""

# difflib is quadratic; a longer middle becomes one hunk, which is still correct.
MAX_COMPARED = 2_000
"""Lines of a changed middle that are compared line by line."""


class Hunk(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines with a leading blank, `-` or `+`; starts count from 1. Spelled as in project-conventions 9.2."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


def make_patch(old: str, new: str) -> tuple[Hunk, ...]:
    """The hunks that turn `old` into `new`, in order; none for equal texts. Line ends are compared but not shown."""
    before, after = _lines(old), _lines(new)
    groups = _grouped(_changes(before, after))
    return tuple(_hunk(group, before, after) for group in groups)


def _lines(text: str) -> list[str]:
    # Not `splitlines`: a form feed or U+2028 ends no line of a file.
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])


def _changes(before: list[str], after: list[str]) -> list[tuple[int, int, int, int]]:
    """Changed ranges (old start, old end, new start, new end), in order. Common ends are set aside first."""
    shortest = min(len(before), len(after))
    head = 0
    while head < shortest and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shortest - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old_middle, new_middle = before[head : len(before) - tail], after[head : len(after) - tail]
    if not old_middle and not new_middle:
        return []
    if len(old_middle) + len(new_middle) > MAX_COMPARED:
        return [(head, len(before) - tail, head, len(after) - tail)]
    matcher = SequenceMatcher(None, old_middle, new_middle, autojunk=False)
    return [
        (head + old_start, head + old_end, head + new_start, head + new_end)
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _grouped(changes: list[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """Changes whose context would touch share a hunk."""
    groups: list[list[tuple[int, int, int, int]]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(group: list[tuple[int, int, int, int]], before: list[str], after: list[str]) -> Hunk:
    old_at = max(0, group[0][0] - CONTEXT)
    old_end = min(len(before), group[-1][1] + CONTEXT)
    new_at = group[0][2] - (group[0][0] - old_at)
    new_end = group[-1][3] + (old_end - group[-1][1])
    lines: list[str] = []
    position = old_at
    for old_start, old_stop, new_start, new_stop in group:
        lines.extend(f" {_bare(line)}" for line in before[position:old_start])
        lines.extend(f"-{_bare(line)}" for line in before[old_start:old_stop])
        lines.extend(f"+{_bare(line)}" for line in after[new_start:new_stop])
        position = old_stop
    lines.extend(f" {_bare(line)}" for line in before[position:old_end])
    return Hunk(
        old_start=old_at + 1 if old_end > old_at else old_at,
        old_lines=old_end - old_at,
        new_start=new_at + 1 if new_end > new_at else new_at,
        new_lines=new_end - new_at,
        lines=tuple(lines),
    )


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
