"""The memory chain: one walk over all candidates and their imports, resumed with facts until nothing is unknown.

Decides what is loaded, in which order, and what is left out and why. `memory_flow` asks for paths; whoever drives it reads them.
The walk depends on place and facts only: listings in any order give the same result (R147).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from posixpath import join

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.memory import MemoryFile, MemoryLevel
from compositor.types.provenance import Omission, Source

from .excludes import is_excluded
from .facts import Fact, FileFact, FolderFact, MemoryPlace, Missing, Need
from .imports import GUARDS, Guards, by_bytes, import_target, is_allowed, is_trusted, refused_name
from .markdown import ImportMark, Piece
from .one_line import one_line
from .parse import STEP, ParsedMemory, parse_memory
from .places import FileCandidate, RulesCandidate, plan_chain, twin_in_worktree

MAX_FILES = 1_000
"""Files in one chain. A file with more imports than that is no instruction file."""


class LoadedFile(Struct, frozen=True, kw_only=True):
    """One file of the chain. The pieces make `file.text`; `real` and `modified` are what a later look at the file is compared with."""

    file: MemoryFile
    pieces: tuple[Piece, ...]
    real: str
    data: bytes
    modified: int


class ConditionalRule(Struct, frozen=True, kw_only=True):
    """A rule that waits for a file its globs match (R126). `base` is what the globs are relative to."""

    loaded: LoadedFile
    globs: tuple[str, ...]
    base: str


class MemoryChain(Struct, frozen=True, kw_only=True):
    """What the walk found: files in load order, rules that wait, and everything that was left out or repaired."""

    files: tuple[LoadedFile, ...] = ()
    rules: tuple[ConditionalRule, ...] = ()
    omissions: tuple[Omission, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def memory_flow(place: MemoryPlace, guards: Guards = GUARDS) -> Generator[Need, Sequence[Fact], MemoryChain]:
    """Yield what is not known yet, be sent the facts of exactly these paths, return the chain."""
    facts: dict[str, Fact] = {}
    parsed: dict[str, ParsedMemory] = {}
    while True:
        walk = _Walk(place, guards, facts, parsed)
        walk.run()
        if not walk.wanted:
            return walk.chain()
        for fact in (yield walk.need()):
            facts[fact.path] = fact
            if isinstance(fact, FileFact) and fact.data is not None:
                parsed[fact.path] = parse_memory(fact.path, fact.data)


class _Step(Struct, frozen=True, kw_only=True):
    """One file on the walk, and how the walk came to it."""

    path: str
    level: MemoryLevel
    base: str
    parent: str | None = None
    parent_line: int = 0
    depth: int = 1
    is_rule: bool = False
    is_trusted: bool = False


class _Walk:
    """One pass over what is known. What is not known is noted in `wanted` and passed over."""

    def __init__(
        self, place: MemoryPlace, guards: Guards, facts: Mapping[str, Fact], parsed: Mapping[str, ParsedMemory]
    ) -> None:
        self.place = place
        self.guards = guards
        self.facts = facts
        self.parsed = parsed
        self.wanted: dict[str, type[Fact]] = {}
        self.seen: set[str] = set()
        self.files: list[LoadedFile] = []
        self.rules: list[ConditionalRule] = []
        self.omissions: list[Omission] = []
        self.diagnostics: list[Diagnostic] = []

    def need(self) -> Need:
        return Need(
            files=tuple(path for path, kind in self.wanted.items() if kind is FileFact),
            folders=tuple(path for path, kind in self.wanted.items() if kind is FolderFact),
        )

    def chain(self) -> MemoryChain:
        return MemoryChain(
            files=tuple(self.files),
            rules=tuple(self.rules),
            omissions=tuple(self.omissions),
            diagnostics=tuple(self.diagnostics),
        )

    def run(self) -> None:
        for candidate in plan_chain(self.place):
            if isinstance(candidate, FileCandidate):
                self._visit_candidate(candidate)
            else:
                self._visit_rules(candidate)

    def _visit_candidate(self, candidate: FileCandidate) -> None:
        rivals = [self._file(path) for path in candidate.unless]
        fact = self._file(candidate.path)
        if fact is None or None in rivals or fact.missing is Missing.ABSENT:
            return
        step = _Step(path=candidate.path, level=candidate.level, base=candidate.base)
        rival = next((rival for rival in rivals if rival and rival.data is not None), None)
        if rival is not None:
            if candidate.path not in self.seen:
                self._omit(step, f"{one_line(rival.path)!r} stands beside it")
            return
        self._visit(step)

    def _visit_rules(self, candidate: RulesCandidate) -> None:
        for path in by_bytes(self._rule_paths(candidate.path)):
            self._visit(_Step(path=path, level=candidate.level, base=candidate.base, is_rule=True))

    def _rule_paths(self, top: str) -> list[str]:
        """All rule files below `top`; links are followed, each real folder once (project-conventions 1.3)."""
        paths: list[str] = []
        visited: set[str] = set()
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            fact = self.facts.get(folder)
            if not isinstance(fact, FolderFact):
                self.wanted[folder] = FolderFact
                continue
            if fact.detail:
                self._report("unreadable", f"The folder cannot be read: {fact.detail}.", one_line(folder))
            if fact.real is None or fact.real in visited:
                continue
            visited.add(fact.real)
            paths.extend(join(folder, name) for name in fact.files)
            waiting.extend(join(folder, name) for name in reversed(by_bytes(fact.folders)))
        return paths

    def _visit(self, step: _Step) -> None:
        """Load one file, if nothing speaks against it, and then its imports."""
        fact = self._file(step.path)
        if fact is None or self._is_left_out(step, fact):
            return
        content = self.parsed[step.path]
        self.diagnostics.extend(content.diagnostics)
        if not content.is_text:
            return
        loaded = _loaded(step, fact, content)
        if content.globs and step.is_rule:
            self.rules.append(ConditionalRule(loaded=loaded, globs=content.globs, base=step.base))
            self._omit(step, f"it applies only to files that match {', '.join(map(repr, content.globs))}")
            return
        self.seen.update((step.path, fact.real or step.path) if self.guards.resolves_links else (step.path,))
        if content.pieces:
            self.files.append(loaded)
        else:
            self._omit(step, "it holds no text")
        for mark in content.imports:
            self._visit_import(step, fact, mark)

    def _visit_import(self, importer: _Step, fact: FileFact, mark: ImportMark) -> None:
        where = f"{one_line(importer.path)}:{mark.line}"
        named = f"'@{one_line(mark.spec)}'"
        path = import_target(mark.spec, importer.path, self.place.home)
        refusal = "there is no home folder" if path is None else refused_name(path)
        if path is None or refusal:
            # Most marks like this are no imports at all: a handle, a package scope, a decorator.
            self._report("import-name", f"{named} is not imported: {refusal}.", where, Severity.INFO)
            return
        trusted = is_trusted(importer.level, fact.real or importer.path, self.place)
        if not trusted and not is_allowed(path, importer.base, self.place):
            self._refuse_outside(named, path, where)
            return
        if importer.depth >= self.guards.depth:
            message = f"{named} is not imported: imports go {self.guards.depth} files deep."
            self._report("import-depth", message, where)
            return
        self._visit(
            _Step(
                path=path,
                level=importer.level,
                base=importer.base,
                parent=importer.path,
                parent_line=mark.line,
                depth=importer.depth + 1,
                is_trusted=trusted,
            )
        )

    def _is_left_out(self, step: _Step, fact: FileFact) -> bool:
        """Whether something speaks against loading the file; says what."""
        if fact.missing is not None:
            self._report_missing(step, fact, fact.missing)
        elif self.guards.once and not self.seen.isdisjoint((step.path, fact.real or step.path)):
            self._omit(step, "it is loaded already")
        elif step.level is not MemoryLevel.MANAGED and is_excluded(step.path, self.place.excludes, self.place.home):
            self._omit(step, "the setting claudeMdExcludes names it")
        elif self._has_twin(step):
            self._omit(step, "the worktree has its own copy of this file")
        elif len(self.files) + len(self.rules) >= MAX_FILES:
            self._omit(step, f"there are more than {MAX_FILES:,} instruction files")
        else:
            return self._leads_outside(step, fact)
        return True

    def _leads_outside(self, step: _Step, fact: FileFact) -> bool:
        """Whether symbolic links lead the file to a place it may not come from (R138)."""
        real = fact.real or step.path
        if not self.guards.resolves_links or real == step.path or step.is_trusted:
            return False
        if step.parent is not None and not is_allowed(real, step.base, self.place):
            self._refuse_outside(f"'@{one_line(step.path)}'", real, f"{one_line(step.parent)}:{step.parent_line}")
            return True
        refusal = refused_name(real)
        if refusal:
            self._report("link-name", f"The link leads to {one_line(real)!r}: {refusal}.", one_line(step.path))
        return refusal is not None

    def _has_twin(self, step: _Step) -> bool:
        twin = twin_in_worktree(step.path, self.place) if step.parent is None else None
        fact = self._file(twin) if twin else None
        return fact is not None and fact.data is not None

    def _file(self, path: str) -> FileFact | None:
        fact = self.facts.get(path)
        if isinstance(fact, FileFact):
            return fact
        if len(self.wanted) < MAX_FILES:
            self.wanted[path] = FileFact
        return None

    def _omit(self, step: _Step, reason: str) -> None:
        source = Source("memory", step.level.name.lower(), one_line(step.path))
        self.omissions.append(Omission(one_line(step.path), reason, STEP, source))

    def _refuse_outside(self, named: str, path: str, where: str) -> None:
        self._report(
            "import-outside",
            f"{named} is not imported: {one_line(path)!r} lies outside the project.",
            where,
            hint="Move the file into the project, or import it from your own instruction file.",
        )

    def _report_missing(self, step: _Step, fact: FileFact, missing: Missing) -> None:
        where = one_line(step.path)
        if missing is Missing.TOO_LARGE:
            self._report("too-large", f"The file has {fact.size:,} bytes and is left out: the limit is 4 MiB.", where)
        elif missing is Missing.UNREADABLE:
            self._report("unreadable", f"The file cannot be read: {fact.detail}.", where)
        elif step.parent is not None:
            what = "is a folder or a special file" if missing is Missing.NOT_A_FILE else "is not there"
            place = f"{one_line(step.parent)}:{step.parent_line}"
            self._report("import-missing", f"An import stays as text: {where!r} {what}.", place)
        elif missing is Missing.NOT_A_FILE:
            self._report("not-a-file", "An instruction file is expected here, not a folder or a special file.", where)

    def _report(
        self, code: str, message: str, where: str, severity: Severity = Severity.WARNING, hint: str = ""
    ) -> None:
        self.diagnostics.append(Diagnostic(f"memory.{code}", message, where, severity, STEP, hint))


def _loaded(step: _Step, fact: FileFact, content: ParsedMemory) -> LoadedFile:
    first = content.pieces[0].line if content.pieces else 1
    parent = one_line(step.parent) if step.parent else None
    file = MemoryFile(path=one_line(step.path), level=step.level, text=content.text, first_line=first, parent=parent)
    return LoadedFile(
        file=file, pieces=content.pieces, real=fact.real or step.path, data=fact.data or b"", modified=fact.modified
    )
