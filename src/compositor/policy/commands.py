"""What the client knows about shell commands: which only read, which only edit files, which are hard to undo.

Decides by allow-lists: a flag that does not stand in the table makes the command unknown, never harmless. Everything is
about one plain simple command; what a line consists of is decided in `shell`. Never decides a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import assert_never

from msgspec import Struct

from .command_table import BUILDS, EDITS, FIND_TESTS, READS, CommandRow, Operands
from .destructive import has_flag, start_points
from .runners import command_starts
from .words import Word

# Commands whose operands are files, for path rules. A command that both reads and writes stands under WRITERS.
READERS = frozenset(
    "bat batcat base64 cat cmp comm cut diff du egrep fgrep file fold grep head hexdump jq less look md5sum more nl od paste "
    "rev rg sha1sum sha256sum sort stat strings sum tac tail tr uniq wc xxd zcat zgrep awk ls find tree readlink realpath".split()
)
WRITERS = frozenset(
    "bsdtar chgrp chmod chown cp cpio csplit dd install ln mkdir mv patch rm rmdir rsync sed shred split tar tee touch truncate unlink "
    "unzip zip".split()
)
# They print nothing but words they were given, or end or pause the shell.
INERT = frozenset(
    {":", "break", "continue", "echo", "exit", "false", "printf", "read", "return", "set", "sleep", "true", "wait"}
)
# They tell of files what is no content and have no flag that writes.
GLOB_READERS = frozenset({"du", "file", "ls", "stat", "wc"})
# Programs whose rule speaks of looking and not of running what is given to them.
_SEARCHERS = frozenset({"fd", "fdfind", "git"})

_SED_SCRIPT = re.compile(r"(?:\d+(?:,(?:\d+|\$))?|\$)?[pd]\Z")
_SED_REPLACE = re.compile(
    r"(?:\d+(?:,(?:\d+|\$))?)?s([/|,#@:])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gipI0-9]*\Z"
)
_CLUSTER = re.compile(r"-[A-Za-z]+\Z")


class Parsed(Struct, frozen=True):
    """A command read by its row: flags, their values, and the operands that remain."""

    operands: tuple[str, ...]
    values: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()


def harmless_paths(words: tuple[Word, ...]) -> tuple[str, ...] | None:
    """The paths that a command of the read-only set would read, or `None` when it is not known to be harmless."""
    texts = tuple(word.text for word in words)
    if is_inert(words):
        return ()
    if texts[0] in GLOB_READERS:
        # A glob that cannot become a flag; what it finds lies in the folder that its beginning names.
        texts = tuple(_glob_folder(word) if _is_safe_glob(word) else word.text for word in words)
        words = tuple(word for word in words if not _is_safe_glob(word))
    if not all(word.literal for word in words):
        return None
    if texts[0] == "[" and texts[-1] == "]":
        texts = ("test", *texts[1:-1])
    if texts[0] == "find":
        return _find_paths(texts[1:])
    if texts[0] == "sed":
        return _sed_paths(texts[1:], in_place=False)
    return _row_paths(READS, texts)


def edited_paths(words: tuple[Word, ...]) -> tuple[str, ...] | None:
    """The paths that a command which only edits files would touch, or `None` when it is not known to do just that."""
    if not all(word.literal for word in words):
        return None
    texts = tuple(word.text for word in words)
    if texts[0] == "sed":
        return _sed_paths(texts[1:], in_place=True)
    paths = _row_paths(EDITS, texts)
    if paths is None or any(path.rsplit("/", 1)[-1] in {"", ".", ".."} for path in paths[:-1]):
        return None
    if texts[0] not in {"cp", "mv"}:
        return paths
    # What is copied into a folder lands there under its own name, and that name is what is written.
    return (*paths, *(f"{paths[-1].rstrip('/') or '/'}/{path.rsplit('/', 1)[-1]}" for path in paths[:-1]))


def is_inert(words: tuple[Word, ...]) -> bool:
    """A builtin that touches nothing, whatever its words become (`printf -v` and `read` are judged by the line)."""
    return words[0].literal and words[0].text in INERT


def _is_safe_glob(word: Word) -> bool:
    return word.splits and not set(word.raw) & set("$`{~\"'\\") and word.text[:1] not in {"-", "?", "["}


def _glob_folder(word: Word) -> str:
    return word.known.rpartition("/")[0] or ("/" if word.known.startswith("/") else ".")


def is_build(words: tuple[Word, ...]) -> bool:
    """A command that builds, checks or tests what lies here, with nothing that the shell makes up."""
    texts = tuple(word.text for word in words)
    return all(word.literal for word in words) and any(texts[: len(row)] == row for row in BUILDS)


def writes_operands(words: tuple[Word, ...]) -> bool:
    """Whether the files that the command names may be written by it."""
    name, *texts = (words[0].text.rsplit("/", 1)[-1], *(word.text for word in words[1:]))
    if name == "sort":
        return any(text.startswith(("-o", "--o")) for text in texts)
    if name == "uniq":
        return sum(not text.startswith("-") for text in texts) > 1
    if name == "perl":
        return any(_CLUSTER.match(text) and "i" in text for text in texts) or any(
            text.startswith("-i") for text in texts
        )
    return name in WRITERS or (name == "git" and bool({"checkout", "restore", "mv", "rm", "apply"} & set(texts[:3])))


def reads_trees(words: tuple[Word, ...]) -> bool:
    """A command that prints what stands in files it finds by itself, so that path rules cannot see them."""
    name, *rest = (words[0].text.rsplit("/", 1)[-1], *(word.text for word in words[1:]))
    if name in {"egrep", "fgrep", "grep"}:
        return any(has_flag(rest, flag) for flag in ("-r", "-R", "-d", "--recursive", "--directories"))
    return name in {"ack", "ag", "diff", "rg", "ugrep"}


def runs_another(words: tuple[Word, ...]) -> bool:
    """`find -exec` and its kin: an allow rule with a wildcard never covers them."""
    texts, name = {word.text for word in words[1:]}, words[0].text.rsplit("/", 1)[-1]
    if texts & {"-exec", "-execdir", "-ok", "-okdir", "-delete"}:
        return True
    return name in _SEARCHERS and bool(command_starts(words))


def path_words(words: tuple[Word, ...]) -> Iterator[str]:
    """Every part of a word behind the command word that could name a file. Too many rather than too few."""
    for word in words[1:]:
        text = word.text
        if not word.literal and not text.startswith("~"):
            continue
        yield from (text,) if not text.startswith("-") else ()
        for cut in ("=", ":", "@"):
            _, found, tail = text.partition(cut)
            yield from (tail,) if found and tail else ()
        if text.startswith("-") and not text.startswith("--") and len(text) > 2:
            yield text[2:]


def _row_paths(rows: dict[tuple[str, ...], CommandRow], texts: tuple[str, ...]) -> tuple[str, ...] | None:
    for length in (3, 2, 1):
        row = rows.get(texts[:length])
        if row is not None and len(texts) >= length:
            parsed = parse_words(texts[length:], row)
            return None if parsed is None else _paths_of(parsed, row)
    return None


def _paths_of(parsed: Parsed, row: CommandRow) -> tuple[str, ...] | None:
    operands = parsed.operands
    if (row.most is not None and len(operands) > row.most) or len(operands) < row.least:
        return None
    if row.needs and operands and not parsed.flags & row.needs:
        return None
    match row.operands:
        case Operands.NONE:
            return None if operands else ()
        case Operands.TEXT:
            return ()
        case Operands.FORMAT:
            return () if all(text.startswith("+") for text in operands) else None
        case Operands.PATHS | Operands.REVISIONS:
            words = [*operands, *parsed.values]
            words += [tail for text in words if (tail := text.partition(":")[2]) and row.operands is Operands.REVISIONS]
            return (*(["."] if row.searches else []), *(text for text in words if text != "-"))
        case _:
            assert_never(row.operands)


def parse_words(texts: tuple[str, ...], row: CommandRow) -> Parsed | None:
    """Read flags by the row's allow-list; `None` as soon as one is not in it (abbreviations are not)."""
    operands: list[str] = []
    values: list[str] = []
    seen: set[str] = set()
    rest = list(texts)
    while rest:
        text = rest.pop(0)
        if text == "--":
            operands.extend(rest)
            break
        if text == "-" or not text.startswith("-"):
            operands.append(text)
            continue
        if row.counts and re.fullmatch(r"-\d+", text):
            continue
        for name, value in _split_flag(text, row):
            seen.add(name)
            if name in row.values:
                if value is None and not rest:
                    return None
                values.append(rest.pop(0) if value is None else value)
            elif name in row.joined or (name in row.flags and (value is None or name.startswith("--"))):
                values.extend([] if value is None else [value])
            else:
                return None
    return Parsed(tuple(operands), tuple(values), frozenset(seen))


def _split_flag(text: str, row: CommandRow) -> list[tuple[str, str | None]]:
    if text.startswith("--"):
        name, found, value = text.partition("=")
        return [(name, value if found else None)]
    flags: list[tuple[str, str | None]] = []
    for at, letter in enumerate(text[1:], 2):
        name = f"-{letter}"
        takes = name in row.values or name in row.joined
        flags.append((name, (text[at:] or None) if takes else None))
        if takes:
            return flags
    return flags


def _find_paths(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    starts = list(start_points(texts))
    files: list[str] = []
    rest = list(texts[len(starts) :])
    while rest:
        test = rest.pop(0)
        count = FIND_TESTS.get(test)
        if count is None or len(rest) < count:
            return None
        values = [rest.pop(0) for _ in range(count)]
        files.extend(values if test in {"-newer", "-samefile"} else [])
    return (*(starts or ["."]), *files)


def _sed_paths(texts: tuple[str, ...], *, in_place: bool) -> tuple[str, ...] | None:
    """A `sed` with one script that prints, deletes or replaces lines; scripts can also write files and run commands."""
    allowed = {"-n", "-E", "-r", "-i", "-s"} if in_place else {"-n", "-E", "-r", "-s"}
    flags = [text for text in texts if text.startswith("-")]
    operands = [text for text in texts if not text.startswith("-")]
    if not set(flags) <= allowed or len(operands) < 2 or not (in_place <= ("-i" in flags)):
        return None
    known = _SED_SCRIPT.match(operands[0]) or _SED_REPLACE.match(operands[0])
    return tuple(operands[1:]) if known else None
