"""Fresh ids for entries, sessions and requests.

Draws them and decides nothing.
"""

from __future__ import annotations

import uuid


class UuidSource:
    """Random UUIDs in text form."""

    def new(self) -> str:
        return str(uuid.uuid4())
