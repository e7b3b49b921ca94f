"""Numbers for the length of answers, instead of adjectives (R066)."""

from __future__ import annotations

ANCHORS = """\
Length of answers, where nothing asks for more:
- Between two tool calls: at most 25 words.
- A final answer about a change: at most 100 words, and the files that were changed.
- An explanation: at most 200 words, unless the user asks for depth."""
