"""PDF files: a small one as a document, pages of any one as text.

Decides which of the two, and which pages.
"""

from __future__ import annotations

import io
import logging
import re
from typing import Any, Final

from compositor.context.tools.display import counted
from compositor.types.blocks import TextBlock
from compositor.types.json import repair_text

from .media import Media, document_block
from .results import Problem

WHOLE_PAGES: Final = 10
"""A longer PDF is read in parts."""

MAX_PAGES: Final = 20
"""Pages of one read (project-conventions 9.2)."""

DOCUMENT_BYTES: Final = 3_000_000
"""A larger PDF is given as text, not as a document."""

TEXT_CHARACTERS: Final = 100_000
_RANGE: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def is_pdf(data: bytes) -> bool:
    """Whether `data` begins like a PDF."""
    return data.startswith(b"%PDF-")


def read_pdf(data: bytes, pages: str | None) -> Media | Problem:
    """The whole document, or the text of `pages` ("3", "1-5")."""
    from pypdf import PdfReader

    # It reports each small fault of a file in the log; what matters comes back as an error.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return Problem("the PDF is locked with a password")
        total = len(reader.pages)
        wanted = _pages(pages, total)
        if isinstance(wanted, Problem):
            return wanted
        if pages is None and len(data) <= DOCUMENT_BYTES:
            return _whole(data, total)
        texts = [(number, reader.pages[number - 1].extract_text()) for number in wanted]
    except Exception as error:  # noqa: BLE001  # a foreign parser on hostile bytes: any failure of it means this
        return Problem(f"the PDF is damaged: {error}")
    return _as_text(texts, total, len(data))


def _pages(pages: str | None, total: int) -> range | Problem:
    if pages is None:
        if total > WHOLE_PAGES:
            return Problem(
                f"the PDF has {total} pages; say which with pages, as in 1-{MAX_PAGES} (at most {MAX_PAGES})"
            )
        return range(1, total + 1)
    match = _RANGE.fullmatch(pages.strip())
    if match is None:
        return Problem(f"pages must look like 3 or 1-5, not {pages[:40]!r}")
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last or first > total:
        return Problem(f"pages {pages!r} do not exist: the PDF has {total}")
    if last - first >= MAX_PAGES:
        return Problem(f"at most {MAX_PAGES} pages can be read at once, not {last - first + 1}")
    return range(first, min(last, total) + 1)


def _whole(data: bytes, total: int) -> Media:
    return Media(
        content=(document_block("application/pdf", data),),
        summary=f"PDF of {counted(total, 'page')}",
        structured={"type": "pdf", "file": {"originalSize": len(data), "totalPages": total}},
    )


def _as_text(texts: list[tuple[int, str]], total: int, size: int) -> Media:
    parts = [f"[Page {number} of {total}]\n{text.strip() or '[No text on this page.]'}" for number, text in texts]
    text = repair_text("\n\n".join(parts))
    if len(text) > TEXT_CHARACTERS:
        text = f"{text[:TEXT_CHARACTERS]}\n[Cut: {len(text) - TEXT_CHARACTERS:,} more characters. Ask for fewer pages.]"
    shown = [number for number, _ in texts]
    file: dict[str, Any] = {"originalSize": size, "totalPages": total, "pages": shown}
    return Media(
        content=(TextBlock(text),),
        summary=f"{len(shown)} of {total} PDF pages as text",
        structured={"type": "parts", "file": file},
    )
