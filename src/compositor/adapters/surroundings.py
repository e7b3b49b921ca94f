"""Gathers what surrounds a session when it opens: repository, instruction files, machine. The three are asked side by side (R097).

Performs the reading. Decides nothing about what becomes of it; what is missing is in the result with a diagnostic (law 6).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compositor.config.contract import RunContract
from compositor.config.policy_inputs import AddedDirectory
from compositor.loop.opening import Surroundings
from compositor.ports import Clock
from compositor.types.diagnostics import Diagnostic

from .environment import read_machine
from .git import read_git
from .memory_files import load_memory, memory_place
from .settings_files import SettingsPlaces


def gather(
    contract: RunContract,
    places: SettingsPlaces,
    environ: Mapping[str, str],
    clock: Clock,
    *,
    sources: tuple[str, ...],
) -> Surroundings:
    """Everything about `places.cwd` that a session captures once. Never raises for what is merely missing."""
    cwd = places.cwd
    directories, notes = _directories(contract.policy.directories)
    with ThreadPoolExecutor(max_workers=2) as pool:
        asked_git = pool.submit(read_git, cwd, environ)
        machine = read_machine(environ)
        git = asked_git.result()
        place = memory_place(
            cwd=cwd,
            home=environ.get("HOME") or None,
            config_home=places.user,
            managed=places.managed,
            project_root=git.root,
            main_checkout=git.main_checkout,
            sources=sources,
            excludes=contract.settings.claude_md_excludes,
        )
        memory = load_memory(place)
    return Surroundings(
        cwd=cwd,
        home=os.path.realpath(environ.get("HOME") or Path.home()),
        date=clock.today(),
        machine=machine,
        memory=memory,
        git=git.status if contract.git_instructions else None,
        is_repository=git.root is not None,
        directories=directories,
        minimal=bool(environ.get("COMPOSITOR_MINIMAL")),
        diagnostics=(*git.diagnostics, *memory.diagnostics, *notes),
    )


def _directories(added: tuple[AddedDirectory, ...]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Real paths of the directories in scope; one that does not exist is left out and said."""
    found: list[str] = []
    notes: list[Diagnostic] = []
    for directory in added:
        path = os.path.realpath(Path(directory.base, Path(directory.path).expanduser()))
        if Path(path).is_dir():
            found.append(path)
        else:
            message = f"The additional directory {directory.path!r} does not exist"
            notes.append(Diagnostic("policy.directory", message, where=directory.file or directory.level.value))
    return tuple(dict.fromkeys(found)), tuple(notes)
