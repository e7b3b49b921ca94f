"""`compositor acp` where it cannot serve; how it does is shown in tests/edges/test_acp.py."""

import sys
from typing import Any

import pytest


def test_without_the_package_it_says_what_to_install(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acp", None)
    ended = call("acp")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "Error: the package 'agent-client-protocol' is not installed. Install it with: pip install 'compositor[acp]'.\n"
    )


def test_the_flags_of_a_run_are_those_of_its_sessions(call: Any) -> None:
    shown = call("acp", "--help").out
    for flag in ("--model", "--permission-mode", "--allowed-tools", "--settings", "--editor-terminal"):
        assert flag in shown
    assert "--project" not in shown
