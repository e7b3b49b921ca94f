"""Gathers what surrounds a session when it opens: repository, instruction files, machine. The three are asked side by side (R097).

Performs the reading. Decides nothing about what becomes of it; what is missing is in the result with a diagnostic (law 6).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread

import msgspec

from compositor.config.contract import RunContract
from compositor.config.policy_inputs import AddedDirectory
from compositor.context.memory.chain import MemoryChain
from compositor.context.prompt.compute import DEBUG_VARIABLE
from compositor.context.prompt.system_context import make_outline
from compositor.loop.opening import Surroundings, plan_policy
from compositor.policy.paths import ResolvedPath
from compositor.policy.visibility import may_be_shown
from compositor.ports import Clock
from compositor.types.diagnostics import Diagnostic
from compositor.types.verdicts import RuleEffect

from .environment import read_machine
from .git import GitFacts, list_files, read_git
from .memory_files import load_memory
from .memory_places import find_memory_place
from .perforce import read_perforce
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
    own = contract.settings.compositor
    asked = _AskedGit(cwd, environ)
    machine = read_machine(environ)
    # Where instruction files lie depends on the checkout alone; the state of version control is read meanwhile (R097).
    where = find_memory_place(contract, places, environ, asked.place(), sources=sources)
    seen = Surroundings(
        cwd=cwd,
        home=os.path.realpath(environ.get("HOME") or Path.home()),
        date=clock.today(),
        machine=machine,
        memory=MemoryChain(),
        memory_place=where.place,
        directories=directories,
        minimal=_is_on(environ, "COMPOSITOR_MINIMAL"),
        coordinator=_is_on(environ, "COMPOSITOR_COORDINATOR"),
        is_debugged=_is_on(environ, DEBUG_VARIABLE),
    )
    place = msgspec.structs.replace(where.place, is_hidden=_hidden(contract, seen))
    memory = load_memory(place)
    perforce, remarks = read_perforce(cwd, environ) if own.version_control == "perforce" else (None, ())
    git = asked.facts()
    return msgspec.structs.replace(
        seen,
        memory=memory,
        memory_place=place,
        git=git.status if contract.git_instructions and own.version_control == "git" else None,
        perforce=perforce,
        outline=make_outline(top_level(cwd, environ)) if own.outline else None,
        is_repository=git.root is not None,
        diagnostics=(*git.diagnostics, *remarks, *where.diagnostics, *memory.diagnostics, *notes),
    )


def _hidden(contract: RunContract, seen: Surroundings) -> Callable[[str], bool] | None:
    """Whether a rule denies reading a path: no instruction file and no import may bring such a file into a request (R397)."""
    policy, _ = plan_policy(contract, seen, interactive=False)
    if not any(rule.effect is RuleEffect.DENY for rule in policy.rules):
        return None
    return lambda path: not may_be_shown(ResolvedPath(path, os.path.realpath(path)), policy)


class _AskedGit:
    """Git, asked in a thread of its own: a plain one, since an executor would load the logging package for one call."""

    def __init__(self, cwd: str, environ: Mapping[str, str]) -> None:
        self._place, self._facts = GitFacts(), GitFacts()
        self._is_placed = Event()
        self._thread = Thread(target=self._ask, args=(cwd, environ))
        self._thread.start()

    def place(self) -> GitFacts:
        """Which checkout this is, as soon as that is known."""
        self._is_placed.wait()
        return self._place

    def facts(self) -> GitFacts:
        self._thread.join()
        return self._facts

    def _ask(self, cwd: str, environ: Mapping[str, str]) -> None:
        def placed(facts: GitFacts) -> None:
            self._place = facts
            self._is_placed.set()

        try:
            self._facts = read_git(cwd, environ, placed=placed)
        finally:
            if not self._is_placed.is_set():
                placed(self._facts)


def top_level(cwd: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The names that git does not ignore, folders with a slash; where git gives no answer, all that are not hidden."""
    listed = list_files(cwd, environ)
    if listed is not None:
        for name in listed:
            first, slash, _ = name.partition("/")
            yield f"{first}/" if slash else first
        return
    with contextlib.suppress(OSError), os.scandir(cwd) as found:
        for entry in found:
            if not entry.name.startswith("."):
                yield f"{entry.name}/" if entry.is_dir() else entry.name


def _is_on(environ: Mapping[str, str], variable: str) -> bool:
    return environ.get(variable, "") not in {"", "0"}


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
