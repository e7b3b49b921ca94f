"""Language servers as values: how one is started and for which files.

Decides the shape that crosses a folder line. Never starts anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw, Struct

from .json import EMPTY_OBJECT


class LanguageServer(Struct, frozen=True, kw_only=True):
    """One configured language server.

    `languages` are language ids by file ending (`.py`), `options` what it is sent when it is initialized, `seconds` how long it may take to
    start.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    languages: Mapping[str, str]
    options: Raw = EMPTY_OBJECT
    seconds: float = 30.0

    def __repr__(self) -> str:
        # Arguments and variables may hold credentials.
        return f"LanguageServer({self.name!r})"
