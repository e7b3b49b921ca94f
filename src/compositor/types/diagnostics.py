"""Diagnostics: what was skipped, cut, dropped, repaired or refused, with place and reason (law 9).

Decides their shape. Never prints.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class Severity(enum.StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Diagnostic(Struct, frozen=True, omit_defaults=True):
    """One visible fact. `code` is stable (`area.what`), `where` a path, entry id or JSON path, `step` who found it."""

    code: str
    message: str
    where: str = ""
    severity: Severity = Severity.WARNING
    step: str = ""
    hint: str = ""
