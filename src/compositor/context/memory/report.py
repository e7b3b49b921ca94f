"""What applied and what did not: the memory chain as rows and findings, for a person who wants to see why (R115, R129).

Decides which rows there are and what each finding is called. Never reads a file and never prints.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from compositor.config.price import Tier
from compositor.context.tokens import estimate_tokens
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.memory import SHARING, MemoryFile

from .chain import MemoryChain
from .contradictions import find_contradictions
from .facts import MemoryPlace
from .labels import memory_text
from .left_out import Why
from .loaded import ConditionalRule, LoadedFile
from .one_line import one_line


class State(enum.StrEnum):
    """Where a file stands: in every request, in requests after its folder or a matching file was reached, or named by PATH."""

    ALWAYS = "always"
    WAITS = "waits"
    NESTED = "nested"
    APPLIES = "applies"


class MemoryRow(Struct, frozen=True, kw_only=True):
    """One file. `chain` are its importers, outermost first. Sizes as sent; dollars a request, `None` without a price."""

    state: State
    path: str
    level: str
    sharing: str
    bytes: int
    tokens: int
    cost_cached: float | None
    cost_uncached: float | None
    chain: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    why: str = ""


class Finding(Struct, frozen=True, kw_only=True):
    """Something to look at. `kind` is one of the words of `KINDS`."""

    kind: str
    path: str
    detail: str


class OtherFile(Struct, frozen=True, kw_only=True):
    """A file that another tool reads, and whether it reaches the model here."""

    path: str
    is_read: bool


class MemoryReport(Struct, frozen=True, kw_only=True):
    """Rows in the order in which the files reach the model; totals of the rows that are in every request, and of rules that are not."""

    cwd: str
    rows: tuple[MemoryRow, ...]
    findings: tuple[Finding, ...]
    other_tools: tuple[OtherFile, ...]
    tokens: int
    tokens_waiting: int
    cost_cached: float | None
    cost_uncached: float | None


class Survey(Struct, frozen=True, kw_only=True):
    """What a walk of the project found. `files` are relative to `top`; `nested` the folders that may hold instructions, absolute.

    `is_whole` false: there was too much to look at, and what is not among `files` may be there all the same.
    """

    top: str
    files: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    is_whole: bool = True


KINDS: Mapping[str, str] = {
    "shadowed": "another file stands in its place",
    "excluded": "the settings exclude it",
    "refused": "an import that leads out of the project",
    "cut": "only its beginning is loaded",
    "never matches": "a rule whose globs match no file of the project",
    "duplicated": "the same text or the same file twice",
    "broken": "something in it cannot be read as it was meant",
    "circular": "imports that lead back to themselves",
    "large": "it is in every request, whole",
    "contradiction": "two statements to compare",
    "empty": "no text is left of it",
    "unfinished": "there are too many files to look at all",
}

_BY_WHY: Mapping[Why, str] = {
    Why.SHADOWED: "shadowed",
    Why.EXCLUDED: "excluded",
    Why.REPEATED: "duplicated",
    Why.CIRCULAR: "circular",
    Why.OTHER_CHECKOUT: "duplicated",
    Why.EMPTY: "empty",
    Why.TOO_MANY: "broken",
}
_BY_CODE: Mapping[str, str] = {
    "memory.import-outside": "refused",
    "memory.import-refused": "refused",
    "memory.link-outside": "refused",
    "memory.link-name": "refused",
    "memory.directory": "refused",
    "memory.cut": "cut",
    "memory.large": "large",
}


def plan_report(
    place: MemoryPlace,
    start: MemoryChain,
    nested: MemoryChain,
    survey: Survey,
    *,
    applying: MemoryChain | None = None,
    tier: Tier | None = None,
    diagnostics: Sequence[Diagnostic] = (),
) -> MemoryReport:
    """The report. `nested` is what stands below the working directory, `applying` what a file that was asked for brings in."""
    waiting = (*start.rules, *nested.rules)
    always = [
        *(_row(State.ALWAYS, loaded.file, start.files, tier) for loaded in start.files),
        *(_row(State.ALWAYS, index.file, (), tier) for index in start.indexes if index.file is not None),
    ]
    if applying is None:
        others = [_row(State.NESTED, loaded.file, nested.files, tier) for loaded in nested.files]
        others += [_row(State.WAITS, rule.loaded.file, (), tier, globs=rule.globs.texts) for rule in waiting]
    else:
        others = [_applying_row(loaded, applying.files, tier) for loaded in applying.files]
    every = (*start.files, *nested.files, *(rule.loaded for rule in waiting))
    return MemoryReport(
        cwd=one_line(place.cwd),
        rows=(*always, *others),
        findings=tuple(
            dict.fromkeys(
                (
                    *_left_out(start, nested),
                    *_diagnosed((*start.diagnostics, *nested.diagnostics, *diagnostics)),
                    *_unmatched(waiting, survey),
                    *_duplicates(every),
                    *_contradictions((*start.files, *(rule.loaded for rule in start.rules))),
                )
            )
        ),
        other_tools=_others(every, survey),
        tokens=sum(row.tokens for row in always),
        tokens_waiting=sum(_tokens(rule.loaded.file) for rule in waiting),
        cost_cached=_total(row.cost_cached for row in always),
        cost_uncached=_total(row.cost_uncached for row in always),
    )


def _row(
    state: State,
    file: MemoryFile,
    files: Sequence[LoadedFile],
    tier: Tier | None,
    *,
    globs: tuple[str, ...] = (),
    why: str = "",
) -> MemoryRow:
    tokens = _tokens(file)
    return MemoryRow(
        state=state,
        path=file.path,
        level=file.level.name.lower(),
        sharing=SHARING[file.level],
        bytes=len(file.text.encode("utf-8", "replace")),
        tokens=tokens,
        cost_cached=None if tier is None else tokens * tier.read / 1_000_000,
        cost_uncached=None if tier is None else tokens * tier.input / 1_000_000,
        chain=_importers(file, {loaded.file.path: loaded.file for loaded in files}),
        globs=globs,
        why=why,
    )


def _applying_row(loaded: LoadedFile, files: Sequence[LoadedFile], tier: Tier | None) -> MemoryRow:
    why = "its folder lies on the way"
    if loaded.trigger is not None:
        path, glob = loaded.trigger
        why = f"{one_line(path)} matches {glob!r}"
    elif loaded.file.parent is not None:
        why = "it is imported"
    return _row(State.APPLIES, loaded.file, files, tier, why=why)


def _importers(file: MemoryFile, by_path: Mapping[str, MemoryFile]) -> tuple[str, ...]:
    chain: list[str] = []
    parent = file.parent
    while parent is not None and parent not in chain:
        chain.insert(0, parent)
        above = by_path.get(parent)
        parent = above.parent if above is not None else None
    return tuple(chain)


def _tokens(file: MemoryFile) -> int:
    return estimate_tokens(memory_text(file).encode("utf-8", "replace"))


def _total(costs: Iterable[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _left_out(*chains: MemoryChain) -> Iterator[Finding]:
    for chain in chains:
        for found in chain.left_out:
            if found.why is not Why.WAITING:
                origin = f" (imported at {found.parent}:{found.line})" if found.parent else ""
                yield Finding(kind=_BY_WHY[found.why], path=found.path, detail=f"{found.reason}{origin}")


def _diagnosed(diagnostics: Iterable[Diagnostic]) -> Iterator[Finding]:
    for found in diagnostics:
        if found.severity is not Severity.INFO:
            hint = f" {found.hint}" if found.hint else ""
            yield Finding(kind=_BY_CODE.get(found.code, "broken"), path=found.where, detail=f"{found.message}{hint}")


def _unmatched(rules: Sequence[ConditionalRule], survey: Survey) -> Iterator[Finding]:
    """Rules whose globs match no file below the top of the survey; one that looks elsewhere is not judged."""
    if not survey.is_whole:
        detail = f"more than {len(survey.files):,} files lie here; which rules match none of them was not found out"
        yield Finding(kind="unfinished", path=one_line(survey.top), detail=detail)
        return
    paths = [f"{survey.top}/{name}" for name in survey.files]
    for rule in rules:
        if rule.globs.looks_into(survey.top) and rule.globs.first_match(paths) is None:
            names = ", ".join(map(repr, rule.globs.texts))
            yield Finding(kind="never matches", path=rule.loaded.file.path, detail=f"no file here matches {names}")


def _duplicates(files: Iterable[LoadedFile]) -> Iterator[Finding]:
    first: dict[str, LoadedFile] = {}
    for loaded in files:
        text = loaded.file.text.strip()
        if not text:
            continue
        known = first.setdefault(text, loaded)
        if known.real != loaded.real:
            detail = f"it says word for word what {known.file.path} says"
            yield Finding(kind="duplicated", path=loaded.file.path, detail=detail)


def _contradictions(files: Sequence[LoadedFile]) -> Iterator[Finding]:
    for found in find_contradictions(files):
        one, other = found.one, found.other
        detail = f"{other.text!r} here, {one.text!r} in {one.path}:{one.line}; look which of them you mean"
        yield Finding(kind="contradiction", path=f"{other.path}:{other.line}", detail=detail)


def _others(files: Iterable[LoadedFile], survey: Survey) -> tuple[OtherFile, ...]:
    read = {name for loaded in files for name in (loaded.path, loaded.real)}
    paths = (f"{survey.top}/{name}" for name in survey.others)
    return tuple(OtherFile(path=one_line(path), is_read=path in read) for path in paths)
