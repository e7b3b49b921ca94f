"""The layout of the head: two system blocks, and one message of user context (R085, R092).

Decides what stands in which block and where the separators are. The boundary is the line between two blocks; no mark of it is ever sent
(R084), and no text can move it. Never decides what the sections say.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from compositor.errors import UsageError
from compositor.types.json import repair_text
from compositor.types.provenance import Fragment, Omission
from compositor.types.request import HeadParts, HeadTool
from compositor.types.system import EffectivePrompt, SectionText, Zone

from .choose import holds_default, takes_system_context
from .compute import STEP
from .entries import ContextEntry
from .order import SESSION_BOUND
from .system_context import render_system_context
from .user_context import render_user_context

_SEPARATOR = "\n\n"


class Placement(enum.StrEnum):
    """Where the facts of this session and machine stand (R105)."""

    SYSTEM = "system"
    FIRST_MESSAGE = "first_message"


def head_parts(
    prompt: EffectivePrompt,
    *,
    system_context: Sequence[ContextEntry] = (),
    user_context: Sequence[ContextEntry] = (),
    tools: Sequence[HeadTool] = (),
    placement: Placement = Placement.SYSTEM,
    omissions: Sequence[Omission] = (),
) -> HeadParts:
    """What a head is compiled from. The fragments of a block make its text; there is no empty block (L07).

    `placement` counts only where the default prompt is part of the effective one (R004); the moved facts then follow the instruction
    files. Raises `UsageError` when `prompt` is not an effective prompt (R027).
    """
    if not isinstance(prompt, EffectivePrompt):
        raise UsageError(
            f"a head needs an EffectivePrompt, not a {type(prompt).__name__}", hint="Make one with choose_prompt."
        )
    system = tuple(system_context) if takes_system_context(prompt) else ()
    sections, user = prompt.sections, tuple(user_context)
    if placement is Placement.FIRST_MESSAGE and holds_default(prompt):
        moved = tuple(_as_entry(section) for section in sections if section.key in SESSION_BOUND)
        sections = tuple(section for section in sections if section.key not in SESSION_BOUND)
        user, system = (*user, *moved, *system), ()
    static = _joined([(section.fragment,) for section in sections if section.zone is Zone.STATIC])
    dynamic = [(section.fragment,) for section in sections if section.zone is Zone.DYNAMIC]
    blocks = (static, _joined([*dynamic, render_system_context(system)]))
    return HeadParts(
        tools=tuple(tools),
        system=tuple(_legal(block) for block in blocks if block),
        context=_legal(render_user_context(user)),
        omissions=(*omissions, *_unused(prompt)),
    )


def _joined(groups: Sequence[Sequence[Fragment]]) -> tuple[Fragment, ...]:
    """The groups one after the other, a blank line between two of them; the separator belongs to what it follows."""
    filled = [group for group in groups if group]
    result: list[Fragment] = []
    for group in filled[:-1]:
        *rest, last = group
        result += [*rest, Fragment(last.text + _SEPARATOR, last.origin)]
    return (*result, *(filled[-1] if filled else ()))


def _as_entry(section: SectionText) -> ContextEntry:
    return ContextEntry(key=section.key, fragments=(section.fragment,))


def _legal(fragments: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """Every text encodable; texts from settings and file names may hold lone surrogates (F07)."""
    return tuple(Fragment(repair_text(fragment.text), fragment.origin) for fragment in fragments)


def _unused(prompt: EffectivePrompt) -> tuple[Omission, ...]:
    return tuple(Omission(f"{name} prompt", f"the {prompt.branch} prompt applies", STEP) for name in prompt.ignored)
