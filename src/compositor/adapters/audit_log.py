"""The log of the enforcement line: every verdict, and every change of what verdicts depend on (R370).

Performs the appending, one JSON object a line, in a private file of the product's own folder. Decides nothing; holds digests of inputs and
never the inputs.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from compositor.policy.audit import AuditRecord, EnforcementChange
from compositor.ports import Clock

from .home import open_private, private_folder

MAX_BYTES = 20_000_000
"""Above this the file is set aside as `audit.1.jsonl`, and the one before that is gone."""


class AuditLog:
    """`COMPOSITOR_HOME/logs/audit.jsonl`, shared by all sessions: a line goes out in one write."""

    def __init__(self, home: Path, session_id: str, cwd: str, clock: Clock) -> None:
        self._path = private_folder(home, "logs") / "audit.jsonl"
        self._about = {"session": session_id, "cwd": cwd}
        self._clock = clock

    @property
    def path(self) -> str:
        return str(self._path)

    def verdict(self, record: AuditRecord) -> None:
        """Raises `OSError` when the line cannot be written."""
        rule = record.rule
        self._append(
            {
                "type": "verdict",
                "verdict": "allow" if record.allowed else "deny",
                "tool": record.tool,
                "tool_use_id": record.call_id,
                "gate": record.gate,
                "reason": record.reason,
                "rule": None if rule is None else rule.text,
                "level": None if rule is None else rule.level,
                "file": None if rule is None else rule.file,
                "mode": record.mode,
                "input_digest": record.input_digest,
                "policy_digest": record.policy_digest,
                "trace": [f"{found.gate.value}: {found.finding.value}" for found in record.trace],
            }
        )

    def change(self, change: EnforcementChange) -> None:
        self._append(
            {
                "type": "change",
                "cause": change.cause.value,
                "field": change.field,
                "before": change.before,
                "after": change.after,
            }
        )

    def _append(self, fields: dict[str, object]) -> None:
        line = msgspec.json.encode({"time": self._clock.now(), **self._about, **fields}) + b"\n"
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            self._path.replace(self._path.with_name("audit.1.jsonl"))
        descriptor = open_private(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
