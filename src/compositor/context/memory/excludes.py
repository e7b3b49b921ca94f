"""Which instruction files a person has excluded (`claudeMdExcludes`, project-conventions 1.7).

Decides the match. Whether exclusion applies at all (never to managed files) is the walk's business.
"""

from __future__ import annotations

from collections.abc import Sequence

from .globs import compile_globs


def is_excluded(path: str, patterns: Sequence[str], home: str | None) -> bool:
    """Whether a glob or an absolute path among `patterns` names the absolute `path`. Case counts; `**` crosses folders."""
    if not patterns:
        return False
    expanded = tuple(home + pattern[1:] if home and pattern.startswith("~/") else pattern for pattern in patterns)
    names = path.split("/")
    return path in expanded or any(glob.matches(names) for glob in compile_globs(expanded))
