"""Rules that a person approved once and for all, remembered for a project in the product's own folder (project-conventions 3.5).

Performs the reading and writing; what a rule allows is decided in `policy`. No file of the project is touched.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.errors import ConfigError

from .home import private_folder, project_key, write_private

_FOLDER = "approved-rules"


class ApprovedRules(Struct, frozen=True, kw_only=True):
    """`rules` are texts of allow rules, oldest first; `project` is the repository they were given for."""

    project: str
    rules: tuple[str, ...] = ()


def approved_file(home: Path, root: str) -> Path:
    return home / _FOLDER / f"{project_key(root)}.json"


def read_approved(home: Path, root: str) -> ApprovedRules:
    """What was approved for `root`. Raises `ConfigError` when the file cannot be read."""
    file = approved_file(home, root)
    try:
        return msgspec.json.decode(file.read_bytes(), type=ApprovedRules)
    except FileNotFoundError:
        return ApprovedRules(project=root)
    except (OSError, msgspec.MsgspecError) as problem:
        raise ConfigError(
            f"The approved rules of {root!r} cannot be read: {problem}",
            where=str(file),
            hint="Mend the file or remove it; its rules are then asked about again",
        ) from problem


def remember_rule(home: Path, root: str, rule: str) -> ApprovedRules:
    """Add an allow rule; one that is there already stays where it is."""
    known = read_approved(home, root)
    return _write(home, root, tuple(dict.fromkeys((*known.rules, rule))))


def forget_rule(home: Path, root: str, rule: str) -> bool:
    """Take an allow rule back; false when there was none."""
    known = read_approved(home, root)
    _write(home, root, tuple(one for one in known.rules if one != rule))
    return rule in known.rules


def _write(home: Path, root: str, rules: tuple[str, ...]) -> ApprovedRules:
    private_folder(home, _FOLDER)
    approved = ApprovedRules(project=root, rules=rules)
    write_private(approved_file(home, root), msgspec.json.encode(approved), durable=True)
    return approved
