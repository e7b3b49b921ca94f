"""Who spoke, as a closed list.

Decides the names. Only the client sets an origin, from what it knows of the channel; no text can (R217, R355).
"""

from __future__ import annotations

import enum


class Origin(enum.StrEnum):
    """Who spoke (R355). `UNCLASSIFIED` is whatever nobody vouches for."""

    HUMAN = "human"
    CHANNEL = "channel"
    PEER = "peer"
    TASK_NOTIFICATION = "task_notification"
    OBSERVER = "observer"
    UNCLASSIFIED = "unclassified"
