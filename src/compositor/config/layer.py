"""One settings file as a layer: its level, its place, and the entries of it that count.

Decides which entries of one file count, and reports the others with their place. Never opens a file and never looks at
another layer: that is `settings.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, assert_never

import msgspec
from msgspec import Struct

from compositor.errors import SettingsError
from compositor.types.diagnostics import Diagnostic, Severity

from .jsontext import Document, KeyPath, parse_document
from .keys import SETTINGS, Key, ListOf, MapOf, Scalar, Scope, Shape, Table


class Level(enum.StrEnum):
    """Where a setting comes from."""

    MANAGED = "managed"
    CLI = "cli"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"


PRECEDENCE: tuple[Level, ...] = (Level.MANAGED, Level.CLI, Level.LOCAL, Level.PROJECT, Level.USER)
"""Highest first (project-conventions 2.1)."""

REPOSITORY: frozenset[Level] = frozenset({Level.LOCAL, Level.PROJECT})
"""Levels whose files lie in the repository and may not set what belongs to the user."""


class Layer(Struct, frozen=True, kw_only=True):
    """One file's share of the settings.

    `file` is the path as a person knows it, `base` the directory that anchors `/path` rules of this file. `shared` tells
    that the file came with the repository, so that somebody else may have written it. `lines` gives the line of each key.
    """

    level: Level
    file: str
    base: str
    shared: bool = False
    values: Mapping[str, Any] = {}
    lines: Mapping[KeyPath, int] = {}
    diagnostics: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        # Values stay out: `env` is where people put keys.
        return f"Layer({self.level.value}, {self.file!r}, keys={sorted(self.values)!r})"


def parse_layer(data: bytes, *, level: Level, file: str, base: str, shared: bool = False) -> Layer:
    """Parse one file. Raises `SettingsError` with line and column when it is no JSON object.

    A bad entry is left out with a diagnostic, except in a managed file, where leaving it out could let something through:
    there it is an error. Unknown keys are kept and reported as information.
    """
    document = parse_document(data, file)
    reader = _Reader(document, level, file)
    for path in document.duplicates:
        reader.report("settings.duplicate-key", f"The key {_dotted(path)!r} stands twice; the last one counts", path)
    values = reader.table(SETTINGS, document.value, ())
    return Layer(
        level=level,
        file=file,
        base=base,
        shared=shared,
        values=values,
        lines=reader.lines,
        diagnostics=tuple(reader.diagnostics),
    )


_LEFT_OUT = object()


class _Reader:
    """Walks one document along the table of keys."""

    def __init__(self, document: Document, level: Level, file: str) -> None:
        self.document = document
        self.level = level
        self.file = file
        self.diagnostics: list[Diagnostic] = []
        # By the index among the items that are kept, so that an origin finds its line.
        self.lines: dict[KeyPath, int] = {path: document.place(path)[0] for path in document.offsets}

    def table(self, fields: Mapping[str, Key], value: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, entry in value.items():
            here = (*path, name)
            key = fields.get(name)
            if key is None:
                self.report("settings.unknown-key", f"The key {_dotted(here)!r} is not known", here, Severity.INFO)
                kept[name] = entry
            elif self.may_set(key, here):
                checked = self.shaped(key.shape, entry, here)
                if checked is not _LEFT_OUT:
                    kept[name] = checked
        return kept

    def may_set(self, key: Key, path: KeyPath) -> bool:
        match key.scope:
            case Scope.ANY:
                return True
            case Scope.USER:
                allowed, owner = self.level not in REPOSITORY, "the user or managed settings"
            case Scope.MANAGED:
                allowed, owner = self.level is Level.MANAGED, "managed settings"
            case _:
                assert_never(key.scope)
        if not allowed:
            who = f"{self.level.value} settings"
            self.report("settings.scope", f"Only {owner} may set {_dotted(path)!r}; {who} are ignored there", path)
        return allowed

    def shaped(self, shape: Shape, value: Any, path: KeyPath) -> Any:
        match shape:
            case Scalar():
                return value if shape.fits(value) else self.bad(shape.expected, value, path)
            case ListOf(item):
                if not isinstance(value, list):
                    return self.bad("an array", value, path)
                return self.items(item, value, path)
            case MapOf(item):
                if not isinstance(value, dict):
                    return self.bad("an object", value, path)
                checked = {name: self.shaped(item, entry, (*path, name)) for name, entry in value.items()}
                return {name: entry for name, entry in checked.items() if entry is not _LEFT_OUT}
            case Table(fields):
                return (
                    self.table(fields, value, path) if isinstance(value, dict) else self.bad("an object", value, path)
                )
            case _:
                assert_never(shape)

    def items(self, shape: Scalar, value: list[Any], path: KeyPath) -> list[Any]:
        kept: list[Any] = []
        for index, entry in enumerate(value):
            checked = self.shaped(shape, entry, (*path, index))
            if checked is not _LEFT_OUT:
                self.lines[*path, len(kept)] = self.document.place((*path, index))[0]
                kept.append(checked)
        return kept

    def bad(self, expected: str, value: Any, path: KeyPath) -> object:
        got = _in_words(value)
        if self.level is Level.MANAGED:
            raise self.refusal(expected, got, path)
        self.report(
            "settings.bad-entry", f"The entry {_dotted(path)!r} is left out: expected {expected}, got {got}", path
        )
        return _LEFT_OUT

    def refusal(self, expected: str, got: str, path: KeyPath) -> SettingsError:
        line, column = self.document.place(path)
        return SettingsError(
            f"The managed setting {_dotted(path)!r} is not of its type: expected {expected}, got {got}",
            path=self.file,
            line=line,
            key=_dotted(path),
            expected=expected,
            got=got,
            where=f"{self.file}:{line}:{column}",
            hint="An administrator has to correct it; nothing runs on a policy that is only half understood",
        )

    def report(self, code: str, message: str, path: KeyPath, severity: Severity = Severity.WARNING) -> None:
        line, column = self.document.place(path)
        where = f"{self.file}:{line}:{column}"
        self.diagnostics.append(Diagnostic(code, message, where=where, severity=severity, step="settings"))


def _dotted(path: KeyPath) -> str:
    """The way to a key as a person writes it: `permissions.allow[2]`."""
    parts = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return parts.removeprefix(".")


def _in_words(value: Any) -> str:
    """What a value is; the value itself only where it is short and cannot be a secret."""
    match value:
        case None | bool() | int() | float():
            return msgspec.json.encode(value).decode()
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
