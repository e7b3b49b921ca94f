"""Trust per repository: kept in our own home, read from another program's file, never taken from what cannot be read."""

import json
from pathlib import Path

import pytest

from compositor.adapters.trust import foreign_settings, read_trust, remember_trust
from compositor.config.trust import Trust


def test_the_newest_answer_for_a_repository_counts(tmp_path: Path) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    assert read_trust(tmp_path, one) is Trust.UNTRUSTED
    remember_trust(tmp_path, one, trusted=True)
    assert read_trust(tmp_path, one) is Trust.TRUSTED
    assert read_trust(tmp_path, other) is Trust.UNTRUSTED
    remember_trust(tmp_path, one, trusted=False)
    assert read_trust(tmp_path, one) is Trust.UNTRUSTED
    (file,) = (tmp_path / "trust").iterdir()
    assert file.stat().st_mode & 0o077 == 0


def test_trust_given_to_another_program_counts_until_we_are_told_otherwise(tmp_path: Path) -> None:
    root, foreign = str(tmp_path / "p"), tmp_path / ".claude.json"
    foreign.write_text(json.dumps({"projects": {root: {"hasTrustDialogAccepted": True}}}))
    assert read_trust(tmp_path, root, foreign=str(foreign)) is Trust.TRUSTED
    remember_trust(tmp_path, root, trusted=False)
    assert read_trust(tmp_path, root, foreign=str(foreign)) is Trust.UNTRUSTED


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"projects": []}', '{"projects": {"/p": {"hasTrustDialogAccepted": "yes"}}}']
)
def test_what_cannot_be_read_is_no_trust(tmp_path: Path, text: str) -> None:
    foreign = tmp_path / ".claude.json"
    foreign.write_text(text)
    assert read_trust(tmp_path, "/p", foreign=str(foreign)) is Trust.UNTRUSTED
    remember_trust(tmp_path, "/p", trusted=True)
    (file,) = (tmp_path / "trust").iterdir()
    file.write_text(text)
    assert read_trust(tmp_path, "/p") is Trust.UNTRUSTED


def test_where_another_program_keeps_it() -> None:
    assert foreign_settings({"HOME": "/h"}) == "/h/.claude.json"
    assert foreign_settings({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == "/c/.claude.json"
    assert foreign_settings({}) is None
