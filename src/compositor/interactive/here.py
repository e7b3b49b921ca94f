"""What a slash command works with: the session as it stands, and where it goes on.

Decides nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from compositor.adapters.home import project_key, session_file
from compositor.adapters.services import Services
from compositor.cli.running import Line
from compositor.config.flags import Flags
from compositor.opened import Opened, Opening
from compositor.runtime.agent import Agent

from .person import AtThePrompt
from .screen import Screen
from .status import Status


class Here(Struct, frozen=True, kw_only=True):
    """One session at the prompt.

    `go` ends it and goes on with another opening, or with none; what is done to the stored session in between comes with it. `submit` begins
    a turn as if it had been typed.
    """

    opening: Opening
    opened: Opened
    line: Line
    agent: Agent
    services: Services
    screen: Screen
    person: AtThePrompt
    status: Status
    go: Callable[[Opening | None, Callable[[], object] | None], None]
    submit: Callable[[str], Awaitable[None]]

    @property
    def session_id(self) -> str:
        return self.opened.header.session_id

    @property
    def project(self) -> str:
        return self.opened.around.cwd

    @property
    def home(self) -> Path:
        return Path(self.opened.home)

    @property
    def transcript(self) -> Path:
        return transcript_of(self.opened)

    def again(self, flags: Flags | None = None) -> Opening:
        """The opening that goes on with this session, by other flags perhaps. One in which nothing was said begins anew."""
        begun = self.agent.conversation.leaf is not None
        return msgspec.structs.replace(
            self.opening,
            flags=flags or self.opening.flags,
            project=self.project,
            resume=self.session_id if begun else None,
            continues=False,
            session_id=None,
        )


Act: TypeAlias = Callable[[Here, str], Awaitable[None]]
"""What a command does with its argument."""


def transcript_of(opened: Opened) -> Path:
    folder = Path(opened.home, "sessions", project_key(opened.header.cwd))
    return session_file(folder, opened.header.session_id)
