"""The fields in the head of a skill, an agent or an output style, read in all spellings that are documented.

Decides what a field means and which sentence a wrong one gets. A wrong field is left out and named; it never costs the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compositor.context.memory.front_matter import Head, parse_head

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class Fields:
    """One head. `problems` collects a sentence for each value that could not be used; `body` is the text behind the head."""

    def __init__(self, values: Mapping[str, object], problems: list[str], body: str = "") -> None:
        self._values = values
        self.problems = problems
        self.body = body

    @classmethod
    def of(cls, text: str) -> Fields:
        """The head of a file, and its body."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        head: Head = parse_head(text)
        problems = [f"line {head.problem_line}: {head.problem}"] if head.problem else []
        return cls(head.values, problems, text.split("\n", head.end)[-1].strip() if head.end else text.strip())

    def text(self, name: str, limit: int | None = None) -> str:
        """A text of one line or several, without the blanks around it; empty where it is not given."""
        value = self._values.get(name, "")
        if not isinstance(value, str):
            self._wrong(name, "text")
            return ""
        if limit is not None and len(value) > limit:
            self.problems.append(f"{name!r} is longer than {limit} characters and is cut")
        return value.strip()[:limit]

    def flag(self, name: str, default: bool) -> bool:  # noqa: FBT001  # the value for a head that does not say
        """A switch: true, false, yes, no, on, off, 1 or 0 (project-conventions 5.2)."""
        value = self._values.get(name, "")
        word = value.strip().lower() if isinstance(value, str) else None
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        if word != "":
            self._wrong(name, "yes or no")
        return default

    def number(self, name: str) -> int | None:
        """A whole number above zero."""
        value = self._values.get(name, "")
        if isinstance(value, str) and value.strip().isdecimal() and int(value) > 0:
            return int(value)
        if value != "":
            self._wrong(name, "a whole number above zero")
        return None

    def words(self, name: str) -> tuple[str, ...] | None:
        """A list, or one text with commas outside parentheses between its items; `None` where it is not given."""
        value = self._values.get(name)
        if value is None:
            return None
        items = split_outside(value) if isinstance(value, str) else value
        texts = [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
        if not isinstance(items, list) or len(texts) != len(items):
            self._wrong(name, "text or a list of text")
            return None
        return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))

    def choice(self, name: str, known: Collection[str]) -> str:
        """One of `known`; empty where it is not given or another word."""
        value = self.text(name)
        if value and value not in known:
            self._wrong(name, f"one of {', '.join(known)}")
            return ""
        return value

    def has(self, name: str) -> bool:
        return self._values.get(name) not in (None, "")

    def raw(self, name: str) -> object:
        return self._values.get(name)

    def _wrong(self, name: str, expected: str) -> None:
        self.problems.append(f"{name!r} must be {expected} and is ignored")


def split_outside(text: str) -> list[str]:
    """The parts between commas outside parentheses: `Bash(git add, git rm), Read` has two."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth = max(depth + (letter == "(") - (letter == ")"), 0)
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def first_paragraph(body: str) -> str:
    """The first paragraph that is no heading, on one line: what describes a file that does not describe itself."""
    for paragraph in body.split("\n\n"):
        lines = [line.strip() for line in paragraph.split("\n") if line.strip() and not line.lstrip().startswith("#")]
        if lines:
            return " ".join(lines)
    return ""
