"""The existing files that a rule with wildcards hides, for sandboxes that can only cover places.

Performs the looking. Which file is hidden is decided by whoever asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MAX_LOOKED_AT = 20_000
"""Files that are compared with rules that hold wildcards; what lies beyond is not covered, and the page says so."""
_SKIPPED = frozenset({".git", "node_modules", ".venv", "__pycache__"})


def hidden_files(roots: Iterable[str], is_hidden: Callable[[str], bool] | None) -> Iterator[str]:
    """Files below `roots` that `is_hidden` speaks of, in the order of their names."""
    if is_hidden is None:
        return
    for at, path in enumerate(_files(root for root in roots if Path(root).is_dir())):
        if at >= MAX_LOOKED_AT:
            return
        if is_hidden(path):
            yield path


def _files(roots: Iterable[str]) -> Iterator[str]:
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(set(folders) - _SKIPPED)
            yield from (f"{folder}/{name}" for name in sorted(names))
