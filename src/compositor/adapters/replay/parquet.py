"""A row for each request as a Parquet file, written by duckdb (extra `analytics`).

Decides the columns. Rows go to a temporary file first, so that memory stays bounded and a broken-off run leaves no half report.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from compositor.config.price import Said, cost, priced
from compositor.errors import ConfigError
from compositor.insight.replay.rows import Session

COLUMNS: dict[str, str] = {
    "path": "VARCHAR", "session": "VARCHAR", "project": "VARCHAR", "line": "BIGINT", "time": "TIMESTAMP", "lane": "VARCHAR",
    "model": "VARCHAR", "read": "BIGINT", "written": "BIGINT", "fresh": "BIGINT", "output": "BIGINT", "dollars": "DOUBLE",
    "estimated": "BIGINT", "copy": "BOOLEAN", "break_cause": "VARCHAR", "break_lost": "BIGINT",
}  # fmt: skip


class RequestTable:
    """Takes sessions; without a target it does nothing."""

    def __init__(self, rows: IO[bytes] | None) -> None:
        self._rows = rows

    @classmethod
    @contextmanager
    def open(cls, target: str | None) -> Iterator[RequestTable]:
        """A table that is written to `target` when the block ends well. Raises `ConfigError` when duckdb is missing."""
        if target is None:
            yield cls(None)
            return
        try:
            import duckdb
        except ImportError as problem:
            hint = "Install the extra: pip install 'compositor[analytics]'"
            raise ConfigError("Parquet needs the package 'duckdb', which is not installed", hint=hint) from problem
        with tempfile.TemporaryDirectory(prefix="compositor-replay-") as folder:
            source = Path(folder) / "rows.jsonl"
            with source.open("wb") as rows:
                yield cls(rows)
            shape = ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in COLUMNS.items())
            with duckdb.connect(":memory:") as database:
                rows_of = f"read_json({_quoted(str(source))}, format='newline_delimited', columns={{{shape}}})"
                place = _quoted(str(Path(target).absolute()))
                database.execute(f"COPY (SELECT * FROM {rows_of}) TO {place} (FORMAT parquet)")  # noqa: S608 - both are quoted

    def add(self, session: Session, copies: frozenset[int], said: Said) -> None:
        """Write a session's rows; `copies` are positions that another file had already."""
        if self._rows is None:
            return
        broken = {found.request: found for found in session.breaks}
        for at, request in enumerate(session.requests):
            usage, price, found = request.usage, priced(request.model, said), broken.get(at)
            row = {
                "path": session.path,
                "session": session.session_id,
                "project": session.project,
                "line": request.line,
                "time": None
                if request.time is None
                else datetime.fromtimestamp(request.time, UTC).strftime("%Y-%m-%d %H:%M:%S.%f"),
                "lane": request.lane,
                "model": request.model,
                "read": None if usage is None else usage.read,
                "written": None if usage is None else usage.written,
                "fresh": None if usage is None else usage.input_tokens,
                "output": None if usage is None else usage.output_tokens,
                "dollars": None if usage is None or price is None else cost(usage, price),
                "estimated": request.estimated,
                "copy": at in copies,
                "break_cause": None if found is None else found.cause.value,
                "break_lost": None if found is None else found.lost,
            }
            self._rows.write(msgspec.json.encode(row) + b"\n")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
