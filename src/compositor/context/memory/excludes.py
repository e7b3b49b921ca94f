"""Which instruction files a person has excluded (`claudeMdExcludes`, project-conventions 1.7).

Decides the match. Whether exclusion applies at all (never to managed files) is the chain's business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def is_excluded(path: str, patterns: Sequence[str], home: str | None) -> bool:
    """Whether a glob or an absolute path among `patterns` names the absolute `path`. Case counts; `**` crosses folders."""
    if not patterns:
        return False
    from wcmatch import glob

    flags = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX
    expanded = [home + pattern[1:] if home and pattern.startswith("~/") else pattern for pattern in patterns]
    return path in expanded or any(_matches(path, pattern, flags) for pattern in expanded)


def _matches(path: str, pattern: str, flags: int) -> bool:
    from wcmatch import glob
    from wcmatch._wcparse import PatternLimitException

    try:
        return glob.globmatch(path, pattern, flags=flags, limit=1_000)
    except (re.error, PatternLimitException):
        # A pattern that cannot be read matches nothing; it must not stop the session.
        return False
