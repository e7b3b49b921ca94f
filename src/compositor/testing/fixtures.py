"""Pytest fixtures. Use them with `pytest_plugins = ["compositor.testing.fixtures"]` in a `conftest.py`.

Decides how a test gets a stand-in: as a value, as a transport for the HTTP client, or on a real port of this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

import pytest
from msgspec import Struct

from compositor.emulator.core import Emulator
from compositor.emulator.profile import ProfileSource, ServiceProfile, catalog
from compositor.emulator.script import parse_script

SAYS_OK = "{repeat: true, turns: [{say: ok}]}"


class ServedEmulator(Struct, frozen=True):
    """A stand-in on a port: `url` for a client, `emulator` to see what it was sent."""

    url: str
    emulator: Emulator


MakeEmulator: TypeAlias = Callable[..., Emulator]
ServeEmulator: TypeAlias = Callable[..., ServedEmulator]


@pytest.fixture
def make_emulator() -> MakeEmulator:
    """A function `(script, profile=..., platform=...)` that gives a stand-in. Without a profile, models are the known ones."""

    def make(
        script: str = SAYS_OK, *, profile: ServiceProfile | ProfileSource | None = None, platform: str = "claude-api"
    ) -> Emulator:
        return Emulator(parse_script(script), profile or catalog(platform))

    return make


@pytest.fixture
def serve_emulator(make_emulator: MakeEmulator) -> Iterator[ServeEmulator]:
    """The same on a port of this machine until the test ends. Needs the extra `serve`."""
    from compositor.emulator.asgi import EmulatorApp
    from compositor.emulator.server import EmulatorServer

    with ExitStack() as running:

        def serve(
            script: str = SAYS_OK,
            *,
            profile: ServiceProfile | ProfileSource | None = None,
            platform: str = "claude-api",
        ) -> ServedEmulator:
            emulator = make_emulator(script, profile=profile, platform=platform)
            url = running.enter_context(EmulatorServer(EmulatorApp(emulator)).background())
            return ServedEmulator(url, emulator)

        yield serve
