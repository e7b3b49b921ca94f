"""How a name from outside (a path, a branch, a setting) is spelled where the model or a person reads it: on one line, as legal text.

Decides the spelling only.
"""

from __future__ import annotations

import re

from compositor.types.json import repair_text

# Line and paragraph separators too: a name may not start a line of its own.
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    """`text` on one line: control characters escaped, bytes that are no text replaced."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", repair_text(text))
