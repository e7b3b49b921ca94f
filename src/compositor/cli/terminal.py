"""How a line of text fits the terminal it is printed on.

Decides where lines are broken: on a terminal between words, in a pipe or a file nowhere.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import TextIO


def fitted(text: str, stream: TextIO, *, indent: int) -> str:
    """`text` for `stream`: what is wider than the terminal goes on below, `indent` columns from the left."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join("\n".join(_wrapped(line, width, " " * indent)) for line in text.split("\n"))


def printable(text: str, stream: TextIO) -> str:
    """`text` for a person's terminal: what a model, a file or a server says cannot move its cursor or speak in its name. A pipe gets it as it is."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text) if stream.isatty() else text


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _wrapped(line: str, width: int, indent: str) -> list[str]:
    # Long words are paths and ids, and what is cut cannot be copied.
    parts = textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return parts or [""]
