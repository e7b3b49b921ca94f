"""Which repositories a person vouched for, remembered in the product's own folder (project-conventions 3.4).

Performs the reading and writing. What trust loosens is decided in `config`. Trust given to another program in `~/.claude.json` counts, and
that file is only read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from compositor.config.trust import Trust

from .home import private_folder, project_key, write_private

_FOLDER = "trust"


def read_trust(home: Path, root: str, *, foreign: str | None = None) -> Trust:
    """Trust in the repository or folder `root`. `foreign` is the path of another program's file. What cannot be read is no trust."""
    try:
        record: dict[str, Any] = msgspec.json.decode(_file(home, root).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return _foreign_trust(foreign, root)
    return Trust.TRUSTED if record.get("trusted") is True else Trust.UNTRUSTED


def remember_trust(home: Path, root: str, *, trusted: bool) -> None:
    """Remember the answer for `root`; the newest one counts, also against another program's."""
    record = {"project": os.path.realpath(root), "trusted": trusted}
    private_folder(home, _FOLDER)
    write_private(_file(home, root), msgspec.json.encode(record), durable=True)


def foreign_settings(environ: Mapping[str, str]) -> str | None:
    """Where another program keeps such answers (project-conventions 2.6)."""
    folder = environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME")
    return str(Path(folder) / ".claude.json") if folder else None


def _file(home: Path, root: str) -> Path:
    return home / _FOLDER / f"{project_key(root)}.json"


def _foreign_trust(foreign: str | None, root: str) -> Trust:
    try:
        found: Any = msgspec.json.decode(Path(foreign).read_bytes()) if foreign is not None else {}
        accepted = found["projects"][os.path.realpath(root)]["hasTrustDialogAccepted"]
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return Trust.UNTRUSTED
    return Trust.TRUSTED if accepted is True else Trust.UNTRUSTED
