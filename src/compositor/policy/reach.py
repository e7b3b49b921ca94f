"""How far a deny rule reaches: every command that may run by a shell line, and every spelling of it (F32, F33).

Decides which texts a deny or ask pattern is compared with. It would rather show a command too many than one too few; nothing
here ever allows anything. An allow rule is compared with `plain_text` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .runners import EXECUTING_FLAGS, INPUT_RUNNERS, code_commands, command_starts
from .shell import ShellLine, parse_shell
from .words import Word, scan_words
from .wrappers import RESERVED, SCRIPT_SHELLS, WRAPPERS

MAX_DEPTH = 4
MAX_SUFFIXES = 100

# An opaque line is cut at everything that may end a command: once with the quotes among it, once without.
_CUTS = (re.compile(r"""[;&|\n\r(){}`<>"'$]+"""), re.compile(r"[;&|\n\r(){}`<>]+"))
_CLUSTER = re.compile(r"-[A-Za-z]+\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_GIT_VALUES = frozenset({"-C", "-c", "--config-env", "--exec-path", "--git-dir", "--namespace", "--work-tree"})
_LONG_FLAGS = {"--recursive": "-r", "--force": "-f"}


def reachable_commands(line: ShellLine, depth: int = 0) -> tuple[tuple[Word, ...], ...]:
    """All commands seen in `line`: nested, wrapped, quoted for another shell, or merely possible in an opaque line."""
    found: list[tuple[Word, ...]] = []
    for words in line.commands:
        found.extend(_unwrap(words, depth))
    if depth < MAX_DEPTH and any(words[0].text.rsplit("/", 1)[-1] in SCRIPT_SHELLS | INPUT_RUNNERS for words in found):
        # A here-document that stands beside a shell may be its script.
        found.extend(
            command for text in line.here_texts for command in reachable_commands(parse_shell(text), depth + 1)
        )
    if line.opaque:
        pieces = (scan_words(piece) for cuts in _CUTS for piece in cuts.split(line.raw))
        found.extend(command for words in pieces if words for command in _unwrap(words, depth))
    return tuple(dict.fromkeys(found))


def spellings(words: tuple[Word, ...]) -> tuple[str, ...]:
    """The texts under which a deny pattern may know this command.

    As written, without quotes, without the folder of the program, without `git`'s flags before the subcommand, with its
    flags sorted, and with them in one cluster.
    """
    texts = [word.text for word in words]
    short = [texts[0].rsplit("/", 1)[-1], *texts[1:]]
    bare = _without_global_flags(short)
    forms = (texts, short, bare, sort_flags(bare), merge_flags(bare))
    return tuple(dict.fromkeys((plain_text(words), *(" ".join(form) for form in forms))))


def may_reach(pattern: str, words: tuple[Word, ...]) -> bool:
    """Whether a deny pattern may cover the command, depending on what the shell puts into its words. False for a literal command."""
    at = next((index for index, word in enumerate(words) if not word.literal), None)
    if at is None:
        return False
    wanted = re.sub(r"(?::|\s)\*\Z", "", pattern).split("*", 1)[0]
    begin = (*(word.text for word in words[:at]), words[at].known)
    short = [begin[0].rsplit("/", 1)[-1], *begin[1:]]
    forms = (begin, short, _without_global_flags(short), merge_flags(short))
    starts = (" ".join(form) for form in forms)
    return any(start.startswith(wanted) or wanted.startswith(start.rstrip()) for start in starts)


def plain_text(words: tuple[Word, ...]) -> str:
    """The command as written, quotes and all, with one blank between words."""
    return " ".join(word.raw for word in words)


def sort_flags(words: list[str]) -> list[str]:
    """The words with the letters of each short flag cluster in order, so that `-fr` and `-rf` are one."""
    return ["-" + "".join(sorted(word[1:])) if _CLUSTER.match(word) else word for word in words]


def merge_flags(words: list[str]) -> list[str]:
    """The words with all short flags in one sorted cluster right behind the command word."""
    known = [_LONG_FLAGS.get(word, word) for word in words]
    letters = "".join(sorted({letter for word in known[1:] if _CLUSTER.match(word) for letter in word[1:]}))
    rest = [word for word in known[1:] if not _CLUSTER.match(word)]
    return [known[0], *([f"-{letters}"] if letters else []), *rest]


def _without_global_flags(words: list[str]) -> list[str]:
    rest = words[1:] if words[0] == "git" else []
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _GIT_VALUES else rest[1:]
    return [words[0], *rest] if rest else words


def _unwrap(words: tuple[Word, ...], depth: int) -> Iterator[tuple[Word, ...]]:
    while len(words) > 1 and _ASSIGNMENT.match(words[0].text):
        words = words[1:]
    yield words
    name = words[0].text.rsplit("/", 1)[-1]
    starts: Sequence[int]
    if name in WRAPPERS | RESERVED or _ASSIGNMENT.match(words[0].text):
        starts = range(1, min(len(words), MAX_SUFFIXES))
    else:
        starts = command_starts(words)[:MAX_SUFFIXES]
        for at, word in enumerate(words[:-1]):
            if word.text in EXECUTING_FLAGS:
                yield from _unwrap(words[at + 1 :], depth)
    yield from code_commands(words)
    for at in starts:
        yield words[at:]
        if depth < MAX_DEPTH and set(words[at].text) & set(" ;&|\n(`$<>"):
            yield from reachable_commands(parse_shell(words[at].text), depth + 1)
