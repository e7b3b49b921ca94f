"""One instruction file: from its bytes to what the model reads, in a fixed order of steps (R141).

Decides the order: text form, front matter, comments, imports. A fault costs as little as possible and is always told. Never resolves an
import and never cuts (R144).
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic, Severity

from .front_matter import parse_front_matter
from .left_out import STEP
from .markdown import ImportMark, Piece, read_markdown
from .one_line import one_line
from .text_form import decode_text

LARGE = 40_000
"""Characters. A longer instruction file is loaded whole, with a notice (F20)."""
MAX_IMPORTS = 1_000
"""Different imports in one file."""


class ParsedMemory(Struct, frozen=True, kw_only=True):
    """What a file holds. `pieces` make the text; `globs` are its `paths`; `is_text` is false for a binary file."""

    pieces: tuple[Piece, ...] = ()
    globs: tuple[str, ...] = ()
    imports: tuple[ImportMark, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    is_text: bool = True

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@lru_cache(maxsize=256)
def parse_memory(path: str, data: bytes) -> ParsedMemory:
    """Parse the content of `path`. Total: every input gives a value."""
    plain = decode_text(data)
    if plain is None:
        problem = _problem("binary", path, None, "The file is binary and is left out.")
        return ParsedMemory(diagnostics=(problem,), is_text=False)
    head = parse_front_matter(plain.text)
    body = plain.text.split("\n", head.end)[head.end] if head.end else plain.text
    content = read_markdown(body, head.end + 1)
    problems: list[Diagnostic] = []
    if plain.damaged_line is not None:
        problems.append(
            _problem("encoding", path, plain.damaged_line, "The file is not legal UTF-8; bad bytes are replaced.")
        )
    if head.problem:
        problems.append(
            _problem("front-matter", path, head.problem_line, f"{head.problem[0].upper()}{head.problem[1:]}.")
        )
    if content.unclosed is not None:
        message = "A comment is never closed; it stays as text, and imports behind it are not followed."
        problems.append(_problem("unclosed-comment", path, content.unclosed, message))
    if len(body) > LARGE:
        problems.append(
            _problem(
                "large",
                path,
                None,
                f"The file has {len(body):,} characters; it is loaded whole, whatever part of the window that takes.",
            )
        )
    imports: dict[str, ImportMark] = {}
    for mark in content.imports:
        imports.setdefault(mark.spec, mark)
    if len(imports) > MAX_IMPORTS:
        problems.append(
            _problem("imports", path, None, f"The file imports more than {MAX_IMPORTS:,} files; the rest is left out.")
        )
    return ParsedMemory(
        pieces=content.pieces,
        globs=head.paths,
        imports=tuple(imports.values())[:MAX_IMPORTS],
        diagnostics=tuple(problems),
    )


def _problem(code: str, path: str, line: int | None, message: str) -> Diagnostic:
    where = one_line(path) if line is None else f"{one_line(path)}:{line}"
    return Diagnostic(f"memory.{code}", message, where, Severity.WARNING, STEP)
