"""Markdown as it arrives: which part of it is finished and can be shown for good.

Decides where one block ends: at an empty line outside of a fence. Shows nothing.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r" *(?:[-*+]|\d+[.)])? *(`{3,}|~{3,})(.*)")


class MarkdownStream:
    """One answer. `rest` is what is not finished yet."""

    def __init__(self) -> None:
        self.rest = ""

    def feed(self, piece: str) -> str:
        """Take in the next piece; gives the blocks that it finishes, as one text."""
        self.rest += piece
        end = _finished(self.rest)
        done, self.rest = self.rest[:end], self.rest[end:]
        return done

    def flush(self) -> str:
        """Everything that is left; the answer has ended."""
        done, self.rest = self.rest, ""
        return done


def _finished(text: str) -> int:
    """How many characters at the beginning are whole blocks."""
    end = place = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        place += len(line)
        found = _FENCE.match(line.rstrip("\n"))
        if fence:
            closes = found is not None and found[1].startswith(fence) and not found[2].strip()
            if closes:
                fence, end = "", place
        elif found is not None:
            fence = found[1]
        elif not line.strip():
            end = place
    return end
