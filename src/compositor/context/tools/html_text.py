"""HTML as Markdown, for a reader that wants the text and not the page.

Decides what of a page is kept: headings, paragraphs, lists, links, code, tables. Scripts, styles and forms are not. Never fetches.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

_SKIPPED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "head", "iframe", "form", "nav", "footer"}
)
_BLOCKS: Final = frozenset(
    "p div section article main header aside h1 h2 h3 h4 h5 h6 ul ol li pre blockquote table tr hr br dl dt dd figure".split()
)
_MARKS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*"}
_VOID: Final = frozenset(
    {"br", "hr", "img", "input", "meta", "link", "wbr", "source", "col", "area", "base", "embed", "track"}
)
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_EMPTY_LINES = re.compile(r"\n{3,}")


def html_to_markdown(html: str, base: str) -> tuple[str, str]:
    """The page's text as Markdown, and its title. `base` is the page's address, from which links are resolved."""
    reader = _Reader(base)
    reader.feed(html)
    reader.close()
    return reader.text(), reader.title


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._base = base
        self._pieces: list[str] = []
        self._skipped: list[str] = []
        self._lists: list[int | None] = []
        self._links: list[tuple[str, int]] = []
        self._pre = 0
        self._in_title = False

    def text(self) -> str:
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        if self._skipped or (tag in _SKIPPED and tag not in _VOID):
            if tag not in _VOID:
                self._skipped.append(tag)
            return
        if tag in _BLOCKS:
            self._open_block(tag)
        elif tag in _MARKS:
            self._pieces.append(_MARKS[tag])
        elif tag == "code" and not self._pre:
            self._pieces.append("`")
        elif tag == "a":
            self._links.append((dict(attrs).get("href") or "", len(self._pieces)))
        elif tag == "img":
            about = dict(attrs).get("alt")
            self._pieces.append(f"[image: {about}]" if about else "")
        elif tag in {"td", "th"}:
            self._pieces.append("| ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._skipped:
            if tag in self._skipped:
                while self._skipped.pop() != tag:
                    pass
            return
        if tag in _BLOCKS:
            self._close_block(tag)
        elif tag in _MARKS:
            self._pieces.append(_MARKS[tag])
        elif tag == "code" and not self._pre:
            self._pieces.append("`")
        elif tag == "a" and self._links:
            self._close_link()
        elif tag in {"td", "th"}:
            self._pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = _BLANKS.sub(" ", self.title + data).strip()
        if self._skipped:
            return
        if self._pre:
            self._pieces.append(data)
            return
        text = _BLANKS.sub(" ", data)
        if self._pieces and self._pieces[-1].endswith(("\n", " ")):
            text = text.lstrip(" ")
        if text:
            self._pieces.append(text)

    def _open_block(self, tag: str) -> None:
        if tag == "br":
            self._pieces.append("\n")
            return
        self._pieces.append("\n" if tag in {"li", "tr", "dt", "dd"} else "\n\n")
        if tag[0] == "h" and tag[1:].isdigit():
            self._pieces.append("#" * int(tag[1:]) + " ")
        elif tag == "hr":
            self._pieces.append("---\n")
        elif tag in {"ul", "ol"}:
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "li":
            self._pieces.append(self._bullet())
        elif tag == "pre":
            self._pre += 1
            self._pieces.append("```\n")
        elif tag == "blockquote":
            self._pieces.append("> ")

    def _close_block(self, tag: str) -> None:
        if tag in {"ul", "ol"} and self._lists:
            self._lists.pop()
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._pieces.append("\n```")
        elif tag == "tr":
            self._pieces.append("|")
            return
        self._pieces.append("" if tag in {"li", "br", "hr", "dt", "dd"} else "\n\n")

    def _bullet(self) -> str:
        indent = "  " * max(len(self._lists) - 1, 0)
        if not self._lists or self._lists[-1] is None:
            return f"{indent}- "
        number = self._lists[-1]
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _close_link(self) -> None:
        target, start = self._links.pop()
        inside = "".join(self._pieces[start:]).strip()
        if inside and target and not target.startswith(("#", "javascript:")):
            self._pieces[start:] = [f"[{inside}]({_resolved(self._base, target)})"]


def _resolved(base: str, target: str) -> str:
    try:
        return urljoin(base, target)
    except ValueError:
        return target
