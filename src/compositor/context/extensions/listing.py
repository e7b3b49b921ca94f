"""The skills that the model is told of, within the budget of the listing (project-conventions 5.3).

Decides what each line says and which descriptions go when they do not fit. Every name stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from compositor.types.provenance import Omission, Source

from .skills import Skill

MAX_DESCRIPTION = 1_536
"""Characters of description and `when_to_use` together."""
FRACTION = 0.01
FALLBACK = 8_000
"""Characters of a listing where the window is not known."""
_CHARACTERS = 4
"""Characters that count as one token of the window's share."""


class Listing(Struct, frozen=True):
    """The lines in order of name, and the descriptions that were left out or cut."""

    lines: tuple[str, ...]
    names: tuple[str, ...]
    omissions: tuple[Omission, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def listing_budget(window: int | None, fraction: float | None = None, fixed: int | None = None) -> int:
    """Characters that a listing may have: a number of its own, else a share of the window of `window` tokens."""
    if fixed is not None:
        return fixed
    return FALLBACK if window is None else int(window * (FRACTION if fraction is None else fraction) * _CHARACTERS)


def list_skills(
    skills: Iterable[Skill], budget: int, *, used: Mapping[str, int] | None = None, limit: int = MAX_DESCRIPTION
) -> Listing:
    """The listing in at most `budget` characters; names alone may be more. `used` counts invocations: the least used lose their words first."""
    listed = sorted((skill for skill in skills if skill.listed and not skill.globs), key=lambda skill: skill.name)
    words = {skill.name: _words(skill, limit) for skill in listed}
    omissions = [_cut(skill, limit) for skill in listed if len(_whole(skill)) > limit]
    counts = used or {}
    size = sum(len(_line(name, text)) + 1 for name, text in words.items())
    for skill in sorted(listed, key=lambda skill: (counts.get(skill.name, 0), skill.name)):
        if size <= budget:
            break
        if words[skill.name]:
            size -= len(_line(skill.name, words[skill.name])) - len(_line(skill.name, ""))
            words[skill.name] = ""
            reason = f"the list of skills may have {budget:,} characters"
            omissions.append(
                Omission(f"description of skill {skill.name}", reason, "skills", Source("skill", skill.name))
            )
    return Listing(tuple(_line(name, text) for name, text in words.items()), tuple(words), tuple(omissions))


def _whole(skill: Skill) -> str:
    return " ".join(" ".join(text.split()) for text in (skill.description, skill.when_to_use) if text)


def _words(skill: Skill, limit: int) -> str:
    whole = _whole(skill)
    return whole if len(whole) <= limit else whole[: max(limit - 1, 0)] + "…"


def _line(name: str, text: str) -> str:
    return f"- {name}: {text}" if text else f"- {name}"


def _cut(skill: Skill, limit: int) -> Omission:
    reason = f"a description may have {limit:,} characters"
    return Omission(f"end of the description of skill {skill.name}", reason, "skills", Source("skill", skill.name))
