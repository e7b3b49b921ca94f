"""The reminder envelope: tags around text that the client adds to the conversation.

Decides the tags, and that nothing inside can close or reopen them (R362, F36). A tag creates no authority (R357).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compositor.types.provenance import Fragment

REMINDER_OPENING = "<system-reminder>\n"
REMINDER_CLOSING = "\n</system-reminder>"

# Any case, with blanks and slashes in front, and with anything that is no letter between the two words.
_LOOK_ALIKE = re.compile(r"<(?=[\s/]{0,8}(?i:system)[\W_]{1,8}(?i:reminder))")
_DEFUSED = re.compile(r"&lt;(?=[\s/]{0,8}(?i:system)[\W_]{1,8}(?i:reminder))")
_HARMLESS = "&lt;"
# In every look-alike, and in hardly any other text: looking for these costs a fraction of the search itself.
_TELLTALE = "reminder"


def neutralize_text(text: str) -> str:
    """`text` with every look-alike of the tag defused; all other text stays as it is."""
    return _LOOK_ALIKE.sub(_HARMLESS, text) if "<" in text and _TELLTALE in text.lower() else text


def restore_text(text: str) -> str:
    """What `neutralize_text` was given, where `text` holds nothing that was defused before: how an edit finds what a file really says."""
    return _DEFUSED.sub("<", text) if _HARMLESS in text and _TELLTALE in text.lower() else text


def count_look_alikes(text: str) -> int:
    """How many tags `neutralize_text` would defuse."""
    return len(_LOOK_ALIKE.findall(text)) if "<" in text and _TELLTALE in text.lower() else 0


def neutralize(fragments: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """The fragments with every look-alike of the tag defused, also one that only their joined text makes."""
    text = "".join(fragment.text for fragment in fragments)
    found = [match.start() for match in _LOOK_ALIKE.finditer(text)]
    if not found:
        return tuple(fragments)
    result: list[Fragment] = []
    end = 0
    for fragment in fragments:
        begin, end = end, end + len(fragment.text)
        parts, start = [], begin
        for place in found:
            if begin <= place < end:
                parts += [text[start:place], _HARMLESS]
                start = place + 1
        result.append(Fragment("".join([*parts, text[start:end]]), fragment.origin))
    return tuple(result)
