"""The wire rules: one table, judged as a fold over the tail and whole over a foreign body (law 1).

Decides what the service would refuse. Never repairs: that is `messages/steps.py`.
"""

from .fold import check_end, check_images, check_messages
from .head import check_head, check_regions, check_size
from .options import thinking_kind
from .rules import RULES, Violation, WireRule
from .walk import LegalityState
from .whole import check_body
from .wire_context import WireContext

__all__ = [
    "RULES",
    "LegalityState",
    "Violation",
    "WireContext",
    "WireRule",
    "check_body",
    "check_end",
    "check_head",
    "check_images",
    "check_messages",
    "check_regions",
    "check_size",
    "thinking_kind",
]
