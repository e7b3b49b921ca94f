"""When files were changed last.

Decides nothing: one look at each.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime


def modified_times(paths: Iterable[str]) -> dict[str, str | None]:
    """Path to its time of change, ISO 8601 in UTC with milliseconds; `None` for one that is not there.

    A path that cannot be looked at is left out.
    """
    found: dict[str, str | None] = {}
    for path in paths:
        try:
            moment = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)  # noqa: PTH116 - thousands of them
            found[path] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        except (FileNotFoundError, NotADirectoryError):
            found[path] = None
        except OSError:
            continue
    return found
