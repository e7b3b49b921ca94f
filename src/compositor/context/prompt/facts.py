"""What the prompt may know: the eligibility profile for the shared part, session facts for the rest.

Decides which facts there are. A static section takes the profile and nothing else (R029, R038): its signature keeps session facts out.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class Reader(enum.StrEnum):
    """Whom the answers are written for (R041)."""

    EXPERT = "expert"
    LEARNER = "learner"


class SectionProfile(Struct, frozen=True, kw_only=True):
    """Everything that static text may depend on. It is part of the cache key: two profiles are two prefixes.

    `engineers` is false under an output style that takes the place of the instructions on engineering work (R060).
    """

    reader: Reader = Reader.EXPERT
    engineers: bool = True


class MachineFacts(Struct, frozen=True, kw_only=True):
    """Facts of the machine: `platform` as `linux` or `darwin`, `os_version` and `shell` in words, empty where unknown."""

    platform: str
    os_version: str = ""
    shell: str = ""


class Style(Struct, frozen=True):
    """An output style: its name, and what it says."""

    name: str
    text: str


class SessionFacts(Struct, frozen=True, kw_only=True):
    """Facts fixed at the start of a session, or at a reset event (R059, R071, R104).

    `date` is the local calendar date, `YYYY-MM-DD`. `model` is the id sent to the service, `model_name` what people call it,
    `knowledge_cutoff` in words. `language` is what the user asked to be answered in. Empty or `None` where unknown or unset.
    `tools` are the names of the tools in the request, `memory_rules` how notes are kept, a text a folder; `server_instructions` are servers with
    what they say, empty while changes are announced at the tail (R058). `clears_results`: old results may disappear.
    """

    cwd: str
    date: str
    machine: MachineFacts
    model: str
    is_repository: bool = False
    model_name: str = ""
    knowledge_cutoff: str = ""
    additional_directories: tuple[str, ...] = ()
    language: str | None = None
    tools: frozenset[str] = frozenset()
    memory_rules: tuple[str, ...] = ()
    server_instructions: tuple[tuple[str, str], ...] = ()
    style: Style | None = None
    clears_results: bool = False
    has_scratchpad: bool = False
    profile_text: str = ""
    anchors_length: bool = False
    is_autonomous: bool = False
