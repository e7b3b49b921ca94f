"""What settings and variables say about instruction files and notes.

Decides which of them count, and which a repository may not set without trust. Never looks for a file: folders are names here.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic

from .environment import read_environment
from .layer import REPOSITORY, Layer
from .settings import Settings
from .trust import Trust


class Keeping(enum.StrEnum):
    """Automatic memory: switched on, off, or as the folder is found."""

    ON = "on"
    OFF = "off"
    AS_FOUND = "as found"


class NamedFolder(Struct, frozen=True, kw_only=True):
    """A folder as written. `contained`: it comes from a repository without trust and must lie inside it."""

    path: str
    file: str
    contained: bool = False


class MemoryChoices(Struct, frozen=True, kw_only=True):
    """`managed_texts` are instructions of managed settings, each with its place; a `None` folder is the default one, or none."""

    reads_instructions: bool = True
    reads_additional: bool = False
    reads_agents_md: bool = True
    excludes: tuple[str, ...] = ()
    managed_texts: tuple[tuple[str, str], ...] = ()
    keeping: Keeping = Keeping.AS_FOUND
    automatic: NamedFolder | None = None
    team: NamedFolder | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def choose_memory(settings: Settings, variables: Mapping[str, str], trust: Trust) -> MemoryChoices:
    """Join settings and the run's variables. Raises `ConfigError` for a variable that has no meaning."""
    environment = read_environment(variables)
    notes: list[Diagnostic] = []
    origin = settings.origin("claudeMd")
    texts = ((f"{origin.file}#claudeMd", settings.claude_md),) if origin and settings.claude_md else ()
    return MemoryChoices(
        reads_instructions=not environment.disable_instruction_files,
        reads_additional=environment.additional_instruction_files,
        reads_agents_md=settings.compositor.agents_md,
        excludes=settings.claude_md_excludes,
        managed_texts=texts,
        keeping=_keeping(settings, environment.disable_automatic_memory),
        automatic=_automatic(settings, trust, notes),
        team=_team(settings, trust),
        diagnostics=tuple(notes),
    )


def _keeping(settings: Settings, disabled: bool | None) -> Keeping:  # noqa: FBT001 (three states: unset is one of them)
    wanted = settings.auto_memory_enabled if disabled is None else not disabled
    if wanted is None:
        return Keeping.AS_FOUND
    return Keeping.ON if wanted else Keeping.OFF


def _automatic(settings: Settings, trust: Trust, notes: list[Diagnostic]) -> NamedFolder | None:
    """The highest level that may say where automatic memory lives (project-conventions 1.8)."""
    for layer in settings.layers:
        path = layer.values.get("autoMemoryDirectory")
        if not path:
            continue
        if _is_foreign(layer, trust):
            notes.append(_note("A folder for notes is not taken from a repository that is not trusted", layer))
        elif not path.startswith(("/", "~/")):
            notes.append(_note(f"The folder {path!r} is neither absolute nor below '~/'; it is not used", layer))
        else:
            return NamedFolder(path=path, file=layer.file)
    return None


def _team(settings: Settings, trust: Trust) -> NamedFolder | None:
    for layer in settings.layers:
        path = layer.values.get("compositor", {}).get("teamMemoryDirectory")
        if path:
            return NamedFolder(path=path, file=layer.file, contained=_is_foreign(layer, trust))
    return None


def _is_foreign(layer: Layer, trust: Trust) -> bool:
    return layer.level in REPOSITORY and trust is not Trust.TRUSTED


def _note(message: str, layer: Layer) -> Diagnostic:
    return Diagnostic("memory.directory", message, layer.file, step="memory")
