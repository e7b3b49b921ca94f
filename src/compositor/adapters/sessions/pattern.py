"""The pattern of use of a project: how long people paused between requests in its newest sessions, and the lifetime that pays.

Performs the reading, bounded in number and size; what follows from a pattern is decided in `context/cache/lifetime.py`.
"""

from __future__ import annotations

from pathlib import Path

from compositor.adapters.home import project_key, session_files
from compositor.config.contract import RunContract
from compositor.config.price import priced
from compositor.context.cache.lifetime import Lifetime, Use, choose_lifetime
from compositor.context.transcript.history import History
from compositor.errors import CompositorError
from compositor.loop.accounting import uses_of
from compositor.types.diagnostics import Diagnostic, Severity

from .reading import read_history

SESSIONS = 3
LARGEST = 8 * 1024 * 1024
"""Bytes of a session that is still read for its pattern."""


def session_lifetime(contract: RunContract, home: Path, cwd: str, *, is_new: bool) -> Lifetime:
    """The lifetime of a new session's markers, chosen once by the sums; one that goes on keeps what it sent (R265)."""
    price = priced(contract.model, contract.settings.compositor.prices)
    asks = is_new and contract.ttl_wish is None and contract.caching and price is not None
    return choose_lifetime(
        recent_uses(home, cwd) if asks else (),
        price,
        wish=contract.ttl_wish,
        model=contract.model,
        eligible=contract.settings.compositor.cache.long_lifetime,
    )


def lifetime_note(lifetime: Lifetime) -> Diagnostic:
    """The choice and its reason, for whoever opens the session."""
    message = f"Markers live {lifetime.ttl.value}: {lifetime.reason}"
    return Diagnostic("cache.lifetime", message, severity=Severity.INFO, step="cache")


def recent_uses(home: Path, cwd: str) -> tuple[Use, ...]:
    """The requests of the newest sessions of the project, oldest first. What cannot be read counts for nothing."""
    found: list[Use] = []
    for path in reversed(_newest(home, cwd)):
        history = _read(path)
        if history is not None:
            found.extend(uses_of(history.journal.sends))
    return tuple(found)


def _newest(home: Path, cwd: str) -> list[Path]:
    dated: list[tuple[float, Path]] = []
    for path in session_files(home, project_key(cwd)):
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_size <= LARGEST:
            dated.append((status.st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)[:SESSIONS]]


def _read(path: Path) -> History | None:
    try:
        return read_history(path)
    except CompositorError:
        return None
