"""One line about a call for the person watching.

Decides which input field stands for a call and how hostile text is shown. Never decides what the model reads.
"""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from compositor.types.json import decode_json, repair_text
from compositor.types.tools import ToolCall

MAX_DISPLAY = 160
"""Characters of a display line; what is longer ends in an ellipsis."""

MAIN_FIELDS: Final = {
    "Agent": "description",
    "Bash": "command",
    "Edit": "file_path",
    "Glob": "pattern",
    "Grep": "pattern",
    "Read": "file_path",
    "Skill": "skill",
    "Write": "file_path",
}

# Categories that move the cursor, hide text or turn it around: control, format, surrogate, line and paragraph separator.
_UNSAFE = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Joiners hold an emoji or a word together and move nothing.
_HARMLESS = "\u200c\u200d"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def display_call(call: ToolCall) -> str:
    """The call as `Name(main argument)`, one line, control characters escaped."""
    return one_line(f"{call.name}({_main_argument(call)})")


def one_line(text: str, limit: int = MAX_DISPLAY) -> str:
    """`text` on one line of at most `limit` characters, with everything escaped that a terminal could act on."""
    shown = escape_controls(text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def escape_controls(text: str) -> str:
    """`text` with control, format and separator characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if _is_unsafe(char) else char for char in repair_text(text))


def counted(number: int, noun: str) -> str:
    """A number with its noun, as in `1 line` and `2,000 lines`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _is_unsafe(char: str) -> bool:
    return unicodedata.category(char) in _UNSAFE and char not in _HARMLESS


def _escaped(char: str) -> str:
    code = ord(char)
    return _SHORT.get(char) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def _main_argument(call: ToolCall) -> str:
    try:
        fields = decode_json(bytes(call.input))
    except ValueError:
        return bytes(call.input).decode("utf-8", "replace")
    if not isinstance(fields, dict):
        return str(fields)
    main: Any = fields.get(MAIN_FIELDS.get(call.name, ""))
    if main is None:
        main = next((value for value in fields.values() if isinstance(value, str)), "")
    return str(main)
