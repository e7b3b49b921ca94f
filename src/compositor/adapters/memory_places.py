"""From what is configured to where instruction files and notes are looked for in this run.

Performs the look-ups (real paths, remembered answers); which choice counts was decided in `config/memory_choices`. Makes no folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.config.contract import RunContract
from compositor.config.environment import join_environment
from compositor.config.layer import Level
from compositor.config.memory_choices import Keeping, MemoryChoices, NamedFolder, choose_memory
from compositor.context.memory.facts import MemoryFolder, MemoryPlace
from compositor.context.memory.imports import is_inside
from compositor.types.diagnostics import Diagnostic
from compositor.types.memory import MemoryLevel

from .approvals import read_approvals
from .git import GitFacts
from .home import find_home, project_key
from .memory_files import memory_place
from .settings_files import SettingsPlaces


class FoundPlace(Struct, frozen=True, kw_only=True):
    """The place, and `project`: the directory that answers and notes are kept for, one for all worktrees of a repository."""

    place: MemoryPlace
    project: str
    diagnostics: tuple[Diagnostic, ...] = ()


def find_memory_place(
    contract: RunContract,
    places: SettingsPlaces,
    environ: Mapping[str, str],
    git: GitFacts,
    *,
    sources: Sequence[str],
) -> FoundPlace:
    """Where this run looks."""
    variables = join_environment(environ, contract.settings, contract.trust).variables
    choices = choose_memory(contract.settings, variables, contract.trust)
    place = memory_place(
        cwd=places.cwd,
        home=environ.get("HOME") or None,
        config_home=places.user,
        managed=places.managed,
        project_root=git.root,
        main_checkout=git.main_checkout,
        extra=_additional(contract) if choices.reads_additional else (),
        sources=sources,
        excludes=choices.excludes,
        reads_agents_md=choices.reads_agents_md,
        managed_texts=choices.managed_texts,
        is_on=choices.reads_instructions,
    )
    project = place.main_checkout or place.project_root
    home = find_home(environ)
    answers = read_approvals(home, project)
    notes = [*choices.diagnostics, *answers.diagnostics]
    folders = (
        *_team(choices.team, place, notes),
        *_automatic(choices, str(home / "memory" / project_key(project)), environ),
    )
    place = msgspec.structs.replace(
        place, approved=answers.approvals.allowed, refused=answers.approvals.refused, folders=folders
    )
    return FoundPlace(place=place, project=project, diagnostics=tuple(notes))


def _additional(contract: RunContract) -> tuple[str, ...]:
    """Directories that the caller added; those of settings give access to files and nothing else (project-conventions 1.6)."""
    added = (directory for directory in contract.policy.directories if directory.level is Level.CLI)
    paths = (os.path.realpath(Path(directory.base, Path(directory.path).expanduser())) for directory in added)
    return tuple(path for path in paths if Path(path).is_dir())


def _team(named: NamedFolder | None, place: MemoryPlace, notes: list[Diagnostic]) -> tuple[MemoryFolder, ...]:
    if named is None:
        return ()
    path = os.path.realpath(Path(place.project_root, Path(named.path).expanduser()))
    if named.contained and not is_inside(path, place.project_root):
        message = (
            f"The folder of team notes {named.path!r} lies outside a repository that is not trusted; it is not read"
        )
        notes.append(Diagnostic("memory.directory", message, named.file, step="memory"))
        return ()
    return (MemoryFolder(path=path, level=MemoryLevel.TEAM, is_found=Path(path).is_dir()),)


def _automatic(choices: MemoryChoices, default: str, environ: Mapping[str, str]) -> tuple[MemoryFolder, ...]:
    if choices.keeping is Keeping.OFF:
        return ()
    named = choices.automatic.path if choices.automatic else default
    home = environ.get("HOME")
    path = os.path.realpath(home + named[1:] if home and named.startswith("~/") else named)
    is_found = Path(path).is_dir()
    is_kept = choices.keeping is Keeping.ON or is_found
    return (MemoryFolder(path=path, level=MemoryLevel.AUTOMATIC, is_kept=is_kept, is_found=is_found),)
