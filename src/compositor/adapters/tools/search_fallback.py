"""A search for machines without ripgrep: a script that understands the options of `rg` that this package uses.

Decides nothing that `rg` would not. Runs as a child process of its own, because a regular expression cannot be interrupted, and
imports nothing of this package.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

TYPES = {
    "c": "*.{c,h}",
    "cpp": "*.{cc,cpp,cxx,hh,hpp,hxx,h}",
    "css": "*.{css,scss}",
    "go": "*.go",
    "html": "*.{html,htm}",
    "java": "*.java",
    "js": "*.{js,jsx,mjs,cjs}",
    "json": "*.json",
    "md": "*.{md,markdown,mdx}",
    "py": "*.{py,pyi}",
    "ruby": "*.{rb,gemspec}",
    "rust": "*.rs",
    "sh": "*.{sh,bash,zsh}",
    "toml": "*.toml",
    "ts": "*.{ts,tsx,mts,cts}",
    "yaml": "*.{yaml,yml}",
}
_BINARY_WINDOW = 8 * 1024
_MAX_BYTES = 64 * 1024 * 1024


def main(arguments: list[str]) -> int:
    """Exit 0 with matches, 1 without, 2 on bad input, as `rg` does."""
    options = _parser().parse_args(arguments)
    try:
        finder = Finder(options)
    except (ValueError, KeyError, re.error) as error:
        sys.stderr.write(f"the search cannot be understood: {error}\n")
        return 2
    found = False
    for path in finder.files():
        found = _report(path, options, finder.expression) or found
    return 0 if found else 1


class Finder:
    """Which files are searched, in the order of their paths."""

    def __init__(self, options: argparse.Namespace) -> None:
        from wcmatch import glob

        flags = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX | glob.CASE

        def compiled(pattern: str) -> Any:
            anywhere = pattern if "/" in pattern else f"**/{pattern}"
            return glob.compile(anywhere.removeprefix("/"), flags=flags)

        self._root: str = options.root
        self._max_depth: int = options.max_depth
        here = Path(self._root).resolve()
        is_repository = any((folder / ".git").exists() for folder in (here, *here.parents))
        self._is_ignoring = is_repository and not options.no_ignore
        # A folder that is named although git ignores it is searched: then only the rules below it count.
        self._top = here if self._is_ignoring and _is_ignored(here.parent, here.name + "/", None) else None
        self._excluded = [compiled(pattern[1:]) for pattern in options.glob if pattern.startswith("!")]
        self._globs = [compiled(pattern) for pattern in options.glob if not pattern.startswith("!")]
        self._types = [compiled(TYPES[options.type])] if options.type else []
        self.expression: re.Pattern[str] | None = None
        if options.regexp is not None:
            kind = re.IGNORECASE if options.ignore_case else 0
            kind |= re.DOTALL if options.multiline_dotall else 0
            self.expression = re.compile(options.regexp, kind | re.MULTILINE)

    def files(self) -> Iterator[str]:
        """Sorted by path, folders among files, as the real program does."""
        if Path(self._root).is_file():
            yield self._root
        else:
            yield from self._below(self._root.rstrip("/"), self._max_depth)

    def _below(self, folder: str, depth: int) -> Iterator[str]:
        if depth == 0:
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            sys.stderr.write(f"{folder}: {error.strerror}\n")
            return
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if not self._is_left_out(folder, entry.name, "/"):
                    yield from self._below(path, depth - 1)
            elif self._is_wanted(entry, path) and not self._is_left_out(folder, entry.name):
                yield path

    def _is_left_out(self, folder: str, name: str, end: str = "") -> bool:
        inner = f"{folder}/{name}".removeprefix("./")
        is_excluded = any(pattern.match(inner) for pattern in self._excluded)
        return is_excluded or (self._is_ignoring and _is_ignored(Path(folder).resolve(), name + end, self._top))

    def _is_wanted(self, entry: os.DirEntry[str], path: str) -> bool:
        if not entry.is_file(follow_symlinks=False):
            return False
        inner = path.removeprefix("./")
        return all(not group or any(pattern.match(inner) for pattern in group) for group in (self._globs, self._types))


def _is_ignored(folder: Path, name: str, top: Path | None) -> bool:
    """Whether git would ignore the entry: the nearest file with an opinion decides, up to `top` or the repository's root."""
    inner = name
    for parent in (folder, *folder.parents):
        rules = _rules(parent)
        verdict = rules.check_file(inner).include if rules is not None else None
        if verdict is not None:
            return bool(verdict)
        if parent == top or (parent / ".git").exists():
            break
        inner = f"{parent.name}/{inner}"
    return False


@cache
def _rules(folder: Path) -> Any:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines((folder / ".gitignore").read_text("utf-8", "replace").splitlines())
    except OSError:
        return None


def _report(path: str, options: argparse.Namespace, expression: re.Pattern[str] | None) -> bool:
    name = os.fsencode(path)
    if expression is None:
        sys.stdout.buffer.write(name + b"\0")
        return True
    lines = _lines(path)
    matches = _matches(lines, expression, is_multiline=options.multiline) if lines else {}
    if not matches:
        return False
    if options.files_with_matches:
        sys.stdout.buffer.write(name + b"\0")
    elif options.count:
        sys.stdout.buffer.write(name + b"\0%d\n" % len(matches))
    else:
        _report_lines(name, lines, matches, options)
    return True


def _lines(path: str) -> list[str]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES)
    except OSError as error:
        sys.stderr.write(f"{path}: {error.strerror}\n")
        return []
    return [] if b"\0" in data[:_BINARY_WINDOW] else re.findall(r"[^\n]*\n|[^\n]+", data.decode("utf-8", "replace"))


def _matches(lines: list[str], expression: re.Pattern[str], *, is_multiline: bool) -> dict[int, tuple[int, list[str]]]:
    """First line of each match (from 0): how many lines it takes, and the matching parts."""
    if not is_multiline:
        found = (
            (index, [match[0] for match in expression.finditer(line.rstrip("\r\n"))])
            for index, line in enumerate(lines)
        )
        return {index: (1, parts) for index, parts in found if parts}
    text = "".join(lines)
    matches: dict[int, tuple[int, list[str]]] = {}
    for match in expression.finditer(text):
        first = text.count("\n", 0, match.start())
        count = match[0].removesuffix("\n").count("\n") + 1
        known, parts = matches.get(first, (1, []))
        matches[first] = (max(known, count), [*parts, match[0]])
    return matches


def _report_lines(
    name: bytes, lines: list[str], matches: dict[int, tuple[int, list[str]]], options: argparse.Namespace
) -> None:
    matched = {first + extra for first, (count, _) in matches.items() for extra in range(count)}
    shown: set[int] = set()
    for first, (count, _) in matches.items():
        shown.update(
            range(max(0, first - options.before_context), min(len(lines), first + count + options.after_context))
        )
    for index in sorted(shown):
        if index in matches:
            count, parts = matches[index]
            _emit("match", name, index, "".join(lines[index : index + count]), parts)
        elif index not in matched:
            _emit("context", name, index, lines[index], [])


def _emit(kind: str, name: bytes, index: int, text: str, parts: list[str]) -> None:
    path = {"bytes": base64.b64encode(name).decode()}
    data = {
        "path": path,
        "lines": {"text": text},
        "line_number": index + 1,
        "submatches": [{"match": {"text": part}} for part in parts],
    }
    sys.stdout.write(json.dumps({"type": kind, "data": data}) + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in (
        "no-config", "hidden", "with-filename", "no-ignore", "files", "null", "json", "files-with-matches", "count", "ignore-case", "multiline",
        "multiline-dotall",
    ):  # fmt: skip
        parser.add_argument(f"--{flag}", action="store_true")
    for option in ("color", "sort", "type", "regexp"):
        parser.add_argument(f"--{option}")
    for option in ("before-context", "after-context"):
        parser.add_argument(f"--{option}", type=int, default=0)
    parser.add_argument("--max-depth", type=int, default=sys.maxsize)
    parser.add_argument("--glob", action="append", default=[])
    parser.add_argument("root")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
