"""One pass over the candidates of the chain and their imports, over what is known so far.

Decides for each file whether it is loaded, waits, or is left out, and notes what is not known yet. The walk depends on place and facts
only: listings in any order give the same result (R147). Never asks anybody: that is `chain.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from posixpath import join

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.memory import MemoryFile, MemoryLevel

from .facts import Fact, FileFact, FolderFact, MemoryPlace, Missing
from .imports import Guards, by_bytes, import_target, is_allowed, is_refused, is_trusted, refused_name
from .left_out import STEP, LeftOut, Why
from .loaded import ConditionalRule, LoadedFile, Occasion
from .markdown import ImportMark
from .one_line import one_line
from .parse import ParsedMemory
from .places import Candidate, FileCandidate, RulesCandidate, twin_in_worktree
from .rules import RuleGlobs, rule_base

MAX_FILES = 1_000
"""Files in one chain. A file with more imports than that is no instruction file."""


class Step(Struct, frozen=True, kw_only=True):
    """One file on the walk, and how the walk came to it: `trail` are the importers, outermost first."""

    path: str
    level: MemoryLevel
    base: str
    trail: tuple[str, ...] = ()
    parent_line: int = 0
    is_rule: bool = False
    is_trusted: bool = False

    @property
    def parent(self) -> str | None:
        return self.trail[-1] if self.trail else None


class Walk:
    """What is not known is noted in `wanted` and passed over."""

    def __init__(
        self,
        place: MemoryPlace,
        guards: Guards,
        occasion: Occasion,
        facts: Mapping[str, Fact],
        parsed: Mapping[str, ParsedMemory],
    ) -> None:
        self.place = place
        self.guards = guards
        self.occasion = occasion
        self.facts = facts
        self.parsed = parsed
        self.wanted: dict[str, type[Fact]] = {}
        self.seen = set(occasion.known)
        self.files: list[LoadedFile] = []
        self.rules: list[ConditionalRule] = []
        self.left_out: list[LeftOut] = []
        self.diagnostics: list[Diagnostic] = []
        self.outside: dict[str, None] = {}

    def run(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            if isinstance(candidate, FileCandidate):
                self._visit_candidate(candidate)
            else:
                self._visit_rules(candidate)

    def _visit_candidate(self, candidate: FileCandidate) -> None:
        rivals = [self._file(path) for path in candidate.unless]
        fact = self._file(candidate.path)
        if fact is None or None in rivals or fact.missing is Missing.ABSENT:
            return
        step = Step(path=candidate.path, level=candidate.level, base=candidate.base, is_rule=candidate.is_rule)
        rival = next((rival for rival in rivals if rival and rival.data is not None), None)
        if rival is not None:
            if candidate.path not in self.seen:
                self._leave_out(step, Why.SHADOWED, f"{one_line(rival.path)!r} stands beside it")
            return
        self._visit(step)

    def _visit_rules(self, candidate: RulesCandidate) -> None:
        for path in by_bytes(self._rule_paths(candidate.path)):
            self._visit(Step(path=path, level=candidate.level, base=candidate.base, is_rule=True))

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

    def _visit(self, step: Step) -> None:
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
            globs = RuleGlobs(texts=content.globs, base=rule_base(step.level, step.base, self.place))
            trigger = self.occasion.trigger(step.path, globs)
            if trigger is None:
                self._wait(step, ConditionalRule(loaded=loaded, globs=globs, folder=step.base))
                return
            loaded = _loaded(step, fact, content, trigger)
        self.seen.update((step.path, fact.real or step.path) if self.guards.resolves_links else (step.path,))
        if content.pieces:
            self.files.append(loaded)
        else:
            self._leave_out(step, Why.EMPTY, "it holds no text")
        for mark in content.imports:
            self._visit_import(step, fact, mark)

    def _wait(self, step: Step, rule: ConditionalRule) -> None:
        self.rules.append(rule)
        for glob, problem in rule.globs.problems():
            self._report("rule-glob", f"The glob {glob!r}: {problem}.", one_line(step.path))
        names = ", ".join(map(repr, rule.globs.texts))
        self._leave_out(step, Why.WAITING, f"it applies only to files that match {names}")

    def _visit_import(self, importer: Step, fact: FileFact, mark: ImportMark) -> None:
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
        if len(importer.trail) + 1 >= self.guards.depth:
            message = f"{named} is not imported: imports go {self.guards.depth} files deep."
            self._report("import-depth", message, where)
            return
        self._visit(
            Step(
                path=path,
                level=importer.level,
                base=importer.base,
                trail=(*importer.trail, importer.path),
                parent_line=mark.line,
                is_trusted=trusted,
            )
        )

    def _is_left_out(self, step: Step, fact: FileFact) -> bool:
        """Whether something speaks against loading the file; says what."""
        if fact.missing is not None:
            self._report_missing(step, fact, fact.missing)
        elif self.guards.once and not self.seen.isdisjoint((step.path, fact.real or step.path)):
            self._leave_out_again(step, fact)
        elif step.level is not MemoryLevel.MANAGED and self.place.excludes_path(step.path):
            self._leave_out(step, Why.EXCLUDED, "the setting claudeMdExcludes names it")
        elif self._has_twin(step):
            self._leave_out(step, Why.OTHER_CHECKOUT, "the worktree has its own copy of this file")
        elif len(self.files) + len(self.rules) >= MAX_FILES:
            self._leave_out(step, Why.TOO_MANY, f"there are more than {MAX_FILES:,} instruction files")
        else:
            return self._leads_outside(step, fact)
        return True

    def _leave_out_again(self, step: Step, fact: FileFact) -> None:
        names = {step.path, fact.real or step.path}
        if any(importer in names or self._real(importer) in names for importer in step.trail):
            self._leave_out(step, Why.CIRCULAR, "its imports lead back to it, and it is loaded already")
        else:
            self._leave_out(step, Why.REPEATED, "it is loaded already")

    def _leads_outside(self, step: Step, fact: FileFact) -> bool:
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

    def _has_twin(self, step: Step) -> bool:
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

    def _real(self, path: str) -> str | None:
        fact = self.facts.get(path)
        return fact.real if fact is not None else None

    def _leave_out(self, step: Step, why: Why, reason: str) -> None:
        parent = one_line(step.parent) if step.parent else None
        self.left_out.append(
            LeftOut(
                path=one_line(step.path),
                level=step.level,
                why=why,
                reason=reason,
                parent=parent,
                line=step.parent_line,
            )
        )

    def _refuse_outside(self, named: str, path: str, where: str) -> None:
        if is_refused(path, self.place):
            self._report("import-refused", f"{named} is not imported: you refused {one_line(path)!r}.", where)
            return
        self.outside[path] = None
        self._report(
            "import-outside",
            f"{named} is not imported: {one_line(path)!r} lies outside the project.",
            where,
            hint=f"Move the file into the project, import it from your own instruction file, or run "
            f"'compositor memory --allow {one_line(path)}'.",
        )

    def _report_missing(self, step: Step, fact: FileFact, missing: Missing) -> None:
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


def _loaded(step: Step, fact: FileFact, content: ParsedMemory, trigger: tuple[str, str] | None = None) -> LoadedFile:
    first = content.pieces[0].line if content.pieces else 1
    parent = one_line(step.parent) if step.parent else None
    file = MemoryFile(path=one_line(step.path), level=step.level, text=content.text, first_line=first, parent=parent)
    return LoadedFile(
        file=file,
        path=step.path,
        pieces=content.pieces,
        real=fact.real or step.path,
        data=fact.data or b"",
        modified=fact.modified,
        trigger=trigger,
    )
