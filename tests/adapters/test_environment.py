"""Clocks, ids and machine facts."""

import re
import sys
import time
import uuid
from datetime import UTC, datetime

import pytest

from compositor.adapters.clock import FixedClock, SystemClock, clock_from
from compositor.adapters.environment import read_machine
from compositor.adapters.ids import UuidSource
from compositor.errors import ConfigError

NOW = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.req("R104")
def test_the_system_clock_tells_the_time_and_the_local_date() -> None:
    clock = clock_from({})
    assert isinstance(clock, SystemClock)
    before, text, after = datetime.now(UTC), clock.now(), datetime.now(UTC)
    assert NOW.fullmatch(text)
    assert (before - datetime.fromisoformat(text)).total_seconds() < 0.002
    assert datetime.fromisoformat(text) <= after
    local = {moment.astimezone().date().isoformat() for moment in (before, datetime.now(UTC))}
    assert clock.today() in local
    assert clock.monotonic() <= clock.monotonic()


@pytest.mark.req("R104")
@pytest.mark.parametrize(
    ("text", "now", "today"),
    [
        ("2026-01-31T23:30:00Z", "2026-01-31T23:30:00.000Z", "2026-01-31"),
        ("2026-01-31T23:30:00.5+02:00", "2026-01-31T21:30:00.500Z", "2026-01-31"),
        ("2026-02-01T00:30:00+02:00", "2026-01-31T22:30:00.000Z", "2026-02-01"),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:00.000Z", "2026-01-31"),
        ("2026-01-31", "2026-01-31T00:00:00.000Z", "2026-01-31"),
    ],
)
def test_a_fixed_clock_is_the_same_in_every_time_zone(
    text: str, now: str, today: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for zone in ("UTC", "Pacific/Kiritimati", "America/Los_Angeles"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        clock = clock_from({"COMPOSITOR_NOW": text})
        assert isinstance(clock, FixedClock)
        assert (clock.now(), clock.today()) == (now, today)
        assert clock.monotonic() > 0
    monkeypatch.undo()
    time.tzset()


def test_a_time_that_is_none_is_refused_with_the_place() -> None:
    with pytest.raises(ConfigError) as raised:
        clock_from({"COMPOSITOR_NOW": "tomorrow"})
    assert "'tomorrow'" in str(raised.value)
    assert "environment variable COMPOSITOR_NOW" in str(raised.value)
    assert isinstance(clock_from({"COMPOSITOR_NOW": ""}), SystemClock)


def test_ids_are_uuids_and_differ() -> None:
    ids = {UuidSource().new() for _ in range(100)}
    assert len(ids) == 100
    assert all(str(uuid.UUID(text)) == text for text in ids)


@pytest.mark.req("R059")
def test_machine_facts() -> None:
    facts = read_machine({"SHELL": "/usr/local/bin/fish", "USER": "somebody"})
    assert (facts.platform, facts.shell) == (sys.platform, "fish")
    assert facts.os_version
    assert read_machine({}).shell == ""
