"""An output style as a value (project-conventions 8), and the built-in ones.

Decides what its head means. Where its text stands in the prompt is the business of `context/prompt`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from .catalog import Catalog, Kind, Place, Refused, SourceFile, settle
from .fields import Fields, first_paragraph

_ORDER = (Place.MANAGED, Place.PROJECT, Place.USER, Place.BUILT_IN)
DEFAULT = "Default"


class OutputStyle(Struct, frozen=True, kw_only=True):
    """`keeps_coding`: the built-in instructions on engineering work stay beside it."""

    name: str
    place: Place
    path: str
    text: str
    description: str = ""
    kind: Kind = Kind.STYLE
    keeps_coding: bool = False
    problems: tuple[str, ...] = ()


def parse_style(source: SourceFile) -> OutputStyle | Refused:
    """The style in `source`, or why there is none."""
    if source.problem:
        return Refused(source, source.problem)
    fields = Fields.of(source.text)
    if not fields.body:
        return Refused(source, "it has no text")
    return OutputStyle(
        name=fields.text("name") or source.name,
        place=source.place,
        path=source.path,
        text=fields.body,
        description=fields.text("description") or first_paragraph(fields.body),
        keeps_coding=fields.flag("keep-coding-instructions", default=False),
        problems=tuple(fields.problems),
    )


def settle_styles(sources: Sequence[SourceFile]) -> Catalog[OutputStyle]:
    """All styles; of a name the managed one counts, then the nearest of the project, the user's, the built-in one."""
    return settle((*(parse_style(source) for source in sources), *BUILT_IN), lambda one: (_ORDER.index(one.place),))


def _built_in(name: str, description: str, text: str) -> OutputStyle:
    return OutputStyle(name=name, place=Place.BUILT_IN, path="", text=text, description=description, keeps_coding=True)


BUILT_IN: tuple[OutputStyle, ...] = (
    _built_in(
        "Concise",
        "Says the least that is enough.",
        """\
Answer in as few words as carry the meaning. No introduction, no summary of what was just done, no offer of more. Give the result first; a \
reason only where it changes what the reader does next.""",
    ),
    _built_in(
        "Explanatory",
        "Explains choices while it works.",
        """\
While you work, explain what in this code base made you choose as you did: two or three short points at each step that teaches something, \
specific to this project and not general knowledge. Put them into the conversation, never into the code.""",
    ),
    _built_in(
        "Learning",
        "Leaves small pieces for the person to write.",
        """\
Help the person learn by doing. Where a design decision or the core of a function of five to ten lines is worth their time, prepare the place, \
mark it in the code with `TODO(human)`, say what it has to do and what to weigh, and wait for what they write. Do the rest yourself.""",
    ),
    _built_in(
        "Proactive",
        "Goes on without waiting, and says what it assumed.",
        """\
Go on with the next sensible step instead of asking whether to. Where something is open, take the likelier reading, say in one sentence what \
you assumed, and continue. What cannot be undone, or reaches beyond this project, still needs a yes first.""",
    ),
)
