"""A file tree as a value, and a driver that answers the chain's questions from it."""

import random
from collections.abc import Generator, Mapping, Sequence
from posixpath import dirname, join, normpath
from typing import TypeVar

from compositor.context.memory.chain import MemoryChain, memory_flow, nested_flow
from compositor.context.memory.facts import Fact, FileFact, FolderFact, MemoryPlace, Missing, Need
from compositor.context.memory.imports import GUARDS, Guards

T = TypeVar("T")


class Disk:
    """Files by absolute path, links by absolute path to absolute target. `seed` shuffles every listing."""

    def __init__(
        self, files: Mapping[str, str | bytes], links: Mapping[str, str] | None = None, seed: int | None = None
    ) -> None:
        self.files = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
        self.links = dict(links or {})
        self.shuffle = random.Random(seed).shuffle if seed is not None else sorted
        self.asked: list[str] = []
        self.rounds = 0

    def load(self, place: MemoryPlace, guards: Guards = GUARDS) -> MemoryChain:
        return self.drive(memory_flow(place, guards))

    def nested(self, place: MemoryPlace, *reached: str, told: Sequence[str] = ()) -> MemoryChain:
        """What work on the files `reached` adds to the start."""
        return self.drive(nested_flow(place, self.load(place), reached, told))

    def drive(self, flow: Generator[Need, Sequence[Fact], T]) -> T:
        try:
            need = next(flow)
            while True:
                self.rounds += 1
                self.asked += [*need.files, *need.folders]
                facts: list[Fact] = [*map(self.file, need.files), *map(self.folder, need.folders)]
                self.shuffle(facts) if self.shuffle is not sorted else None
                need = flow.send(facts)
        except StopIteration as end:
            result: T = end.value
            return result

    def file(self, path: str) -> FileFact:
        real = self.real(path)
        if real is None:
            return FileFact(path=path, missing=Missing.UNREADABLE, detail="Too many levels of symbolic links")
        if real in self.files:
            data = self.files[real]
            return FileFact(path=path, real=real, data=data, size=len(data))
        if any(name.startswith(f"{real}/") for name in self.files):
            return FileFact(path=path, real=real, missing=Missing.NOT_A_FILE)
        return FileFact(path=path, missing=Missing.ABSENT)

    def folder(self, path: str) -> FolderFact:
        real = self.real(path)
        if real is None:
            return FolderFact(path=path)
        names = {
            name[len(real) + 1 :].split("/")[0] for name in (*self.files, *self.links) if name.startswith(f"{real}/")
        }
        if not names:
            return FolderFact(path=path)
        listing = sorted(names)
        if self.shuffle is not sorted:
            self.shuffle(listing)
        folders = tuple(name for name in listing if self.file(join(real, name)).missing is Missing.NOT_A_FILE)
        files = tuple(name for name in listing if name not in folders and name.endswith(".md"))
        return FolderFact(path=path, real=real, files=files, folders=folders)

    def real(self, path: str) -> str | None:
        """`path` without links; `None` for a loop."""
        for _ in range(40):
            prefix = next((link for link in self.links if path == link or path.startswith(f"{link}/")), None)
            if prefix is None:
                return path
            path = normpath(join(dirname(prefix), self.links[prefix]) + path[len(prefix) :])
        return None


def place(cwd: str = "/repo", **changes: object) -> MemoryPlace:
    values: dict[str, object] = {
        "project_root": cwd,
        "home": "/home/u",
        "config_home": "/home/u/.claude",
        "config_home_real": "/home/u/.claude",
        "managed": ("/etc/claude-code",),
    }
    return MemoryPlace(cwd=cwd, **{**values, **changes})  # type: ignore[arg-type]


def report(chain: MemoryChain) -> str:
    """The chain as the case files spell it."""
    lines: list[str] = []
    for loaded in chain.files:
        file = loaded.file
        lines.append(f"{file.level.name.lower()} {file.path}" + (f" <- {file.parent}" if file.parent else ""))
        for piece in loaded.pieces:
            for offset, text in enumerate(_rows(piece.text)):
                lines.append(f"  {piece.line + offset}|{text}".rstrip())
    lines += [f"omitted {omission.what}: {omission.reason}" for omission in chain.omissions]
    lines += [f"{problem.severity.value} {problem.code} {problem.where}" for problem in chain.diagnostics]
    return "\n".join(lines)


def _rows(text: str) -> Sequence[str]:
    return text.removesuffix("\n").split("\n")
