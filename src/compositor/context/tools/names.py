"""Legal tool names for the wire, and the way back (F10).

Decides how a real name that an API would refuse is spelled: letters, digits, `_` and `-`, at most 64 (L100). The same
set of names always gives the same spelling. Never renames for any other reason.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

MAX_NAME = 64
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_LEGAL = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")
_HASH_LENGTH = 8


class NameMap(Struct, frozen=True):
    """`wire` finds the legal name of a real one, `real` the reverse. Both hold every name."""

    wire: Mapping[str, str]
    real: Mapping[str, str]

    @property
    def renamed(self) -> tuple[tuple[str, str], ...]:
        """(real, wire) of each name that had to change, sorted: one message each names the server's tool."""
        return tuple(sorted((real, wire) for real, wire in self.wire.items() if real != wire))


def map_names(names: Iterable[str], known: Mapping[str, str] | None = None) -> NameMap:
    """Map real names to legal ones. A legal name keeps itself; a mapped one that would collide gets a short hash.

    `known` holds earlier assignments (real to wire) of the session; they win, so that a name never changes once it was sent.
    """
    real_names = sorted(set(names))
    wire = {name: name for name in real_names if is_legal_name(name)}
    wire.update({name: sent for name, sent in (known or {}).items() if name in set(real_names)})
    rest = [name for name in real_names if name not in wire]
    wanted = Counter(_spelled(name) for name in rest)
    taken = set(wire.values()) | set((known or {}).values())
    for name in rest:
        plain = _spelled(name)
        is_free = plain not in taken and wanted[plain] == 1 and is_legal_name(plain)
        wire[name] = plain if is_free else _with_hash(name)
    return NameMap(wire, {sent: name for name, sent in wire.items()})


def is_legal_name(name: str) -> bool:
    """Whether an endpoint takes `name` as it is (L100)."""
    return _LEGAL.fullmatch(name) is not None


def _spelled(name: str) -> str:
    return _ILLEGAL.sub("_", name)


def _with_hash(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{_spelled(name)[: MAX_NAME - _HASH_LENGTH - 1]}_{digest}"
