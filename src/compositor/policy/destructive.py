"""Commands that are hard to undo: the rows of the catalogue that a command falls under, or could (R369).

Decides by the one table that the prompt is made of too (`types/patterns.py`). Never decides a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compositor.types.patterns import DESTRUCTIVE_PATTERNS, DestructivePattern

from .words import Word

DELETERS = frozenset({"rm", "rmdir", "shred", "unlink"})
# Words behind these are a text of the author, never a flag.
_TEXT_FLAGS = frozenset({"-m", "-am", "--message", "--title", "--body", "-b", "-t"})
_CLUSTER = re.compile(r"-[A-Za-z]+\Z")


def destructive_pattern(words: tuple[Word, ...]) -> DestructivePattern | None:
    """The first row of the catalogue that this command falls under."""
    texts = (words[0].text.rsplit("/", 1)[-1], *(word.text for word in words[1:]))
    return next((row for row in DESTRUCTIVE_PATTERNS if _falls_under(texts, row)), None)


def may_be_destructive(words: tuple[Word, ...], *, open_ended: bool = False) -> bool:
    """Whether the command falls under the catalogue, or could when the shell puts something unlucky into its words."""
    if destructive_pattern(words) is not None:
        return True
    unknown = [at for at, word in enumerate(words) if not word.literal and not _is_text(words, at)]
    if not unknown and not open_ended:
        return False
    name = words[0].text.rsplit("/", 1)[-1]
    first = next((word for word in words[1:] if not (word.literal and word.text.startswith("-"))), None)
    rows = [row for row in DESTRUCTIVE_PATTERNS if name == row.words[0] or name.startswith(f"{row.words[0]}.")]
    if first is None or not first.literal:
        return bool(rows)
    return any(len(row.words) == 1 or row.words[1] in {word.text for word in words} for row in rows)


def deleted_words(words: tuple[Word, ...]) -> tuple[str, ...]:
    """The operands of a deleting command, as written; empty for any other command."""
    texts = tuple(word.text for word in words)
    name = texts[0].rsplit("/", 1)[-1]
    if name == "find" and "-delete" in texts:
        return tuple(start_points(texts[1:])) or (".",)
    return tuple(text for text in texts[1:] if not text.startswith("-")) if name in DELETERS else ()


def _is_text(words: tuple[Word, ...], at: int) -> bool:
    """One word, as the quotes keep it together, that a flag takes as its text."""
    word = words[at]
    return not word.splits and (words[at - 1].text in _TEXT_FLAGS or word.known.startswith("--message="))


def _falls_under(texts: tuple[str, ...], row: DestructivePattern) -> bool:
    head, *subcommands = row.words
    if texts[0] != head and not texts[0].startswith(f"{head}."):
        return False
    # Global flags may stand between a program and its subcommand (`git -C x push`), so the subcommands are looked for.
    rest = list(texts[1:])
    for word in subcommands:
        if word not in rest:
            return False
        rest = rest[rest.index(word) + 1 :]
    if row.flags and not any(has_flag(rest, flag) for flag in row.flags):
        return False
    return not row.subjects or any(text.startswith(row.subjects) for text in rest if not text.startswith("-"))


def has_flag(texts: list[str], flag: str) -> bool:
    if flag in texts or any(text.startswith(f"{flag}=") for text in texts):
        return True
    if flag.startswith("--") and len(flag) > 4:
        # A unique abbreviation is as good as the whole name.
        return any(text.startswith("--") and len(text) > 4 and flag.startswith(text) for text in texts)
    return len(flag) == 2 and any(_CLUSTER.match(text) and flag[1] in text[1:] for text in texts)


def start_points(texts: tuple[str, ...]) -> Iterator[str]:
    for text in texts:
        if text.startswith("-") or text in {"(", ")", "!", ","}:
            return
        yield text
