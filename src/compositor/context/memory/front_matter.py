"""The YAML head of an instruction file: where it ends, and which paths it names.

Decides what counts as front matter and what happens when YAML refuses it (R131). Never matches a glob, and shares nothing with
the parser of settings (R119). Skills, agents and output styles have heads of the same form: `parse_head`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

SIZE_LIMIT = 64 * 1024
"""Characters. What is longer is not front matter but text."""


class Head(Struct, frozen=True):
    """`values` as written, every scalar as text; `end`, `problem` and `problem_line` as in `FrontMatter`."""

    end: int = 0
    values: Mapping[str, object] = {}
    problem: str = ""
    problem_line: int = 1
    lines: tuple[str, ...] = ()


class FrontMatter(Struct, frozen=True):
    """`paths` as written, one glob an item; empty when the file names none. `end` is the number of lines that the head takes.

    `problem` says in one sentence what was wrong, `problem_line` where (from 1).
    """

    end: int = 0
    paths: tuple[str, ...] = ()
    problem: str = ""
    problem_line: int = 1


_KEY = re.compile(r"[A-Za-z_][\w-]*[ \t]*:")
_LEAD = re.compile(r"\s*(?:-[ \t]+|[A-Za-z_][\w-]*[ \t]*:[ \t]+)")


def parse_front_matter(text: str) -> FrontMatter:
    """Read the head of `text` (line feeds only). A head that is not a mapping, or is never closed, is text.

    What YAML refuses is read again with its plain values quoted; what it refuses then too leaves the file without `paths`. Both have a
    problem to show.
    """
    head = parse_head(text)
    paths = split_globs(head.values.get("paths"))
    if paths is None:
        return FrontMatter(
            head.end,
            problem="'paths' is neither text nor a list of text and is ignored",
            problem_line=_line_of(head.lines),
        )
    return FrontMatter(head.end, paths, head.problem, head.problem_line)


def parse_head(text: str) -> Head:
    """The head of `text` with all its values; empty where there is none."""
    if not text.startswith("---\n"):
        return Head()
    lines = text[: SIZE_LIMIT + 8].split("\n")
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == "---"), None)
    if end is None:
        starts = len(lines) > 1 and _KEY.match(lines[1]) is not None
        return Head(problem="the front matter is never closed by a line '---' and is kept as text" if starts else "")
    return _from_lines(tuple(lines[1:end]), end + 1)


def _from_lines(lines: tuple[str, ...], end: int) -> Head:
    value, problem, line = _load(lines)
    if problem:
        value, still, _ = _load([_quoted(line) for line in lines])
        if still:
            return Head(end, problem=f"the front matter is not YAML and is ignored: {problem}", problem_line=line)
        problem = f"a value in the front matter must be quoted; it is read as plain text: {problem}"
    if value is None:
        return Head(end, problem=problem, problem_line=line)
    if not isinstance(value, dict):
        return Head()
    return Head(end, value, problem, line if problem else 1, lines)


def _load(lines: Sequence[str]) -> tuple[object, str, int]:
    """The value, what was wrong with it in words, and the line of the file."""
    import yaml

    try:
        # Every scalar stays text: `1.10` is no number here and `on` no truth value.
        return yaml.CBaseLoader("\n".join(lines)).get_single_data(), "", 1
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        return None, problem.problem or "syntax error", (mark.line if mark else 0) + 2
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        return None, str(problem).split("\n", 1)[0] or "nested too deeply", 2


def _quoted(line: str) -> str:
    """`line` with its plain value, or the plain items of its flow list, in quotes: so YAML takes them as the author meant them."""
    lead = _LEAD.match(line)
    value = line[lead.end() :].strip() if lead else ""
    if lead is None or not value or value[0] in "'\"|>#":
        return line
    if value[0] == "[" and value[-1] == "]":
        return f"{lead[0]}[{', '.join(_in_quotes(item) for item in _split_commas(value[1:-1]))}]"
    return lead[0] + _in_quotes(value)


def _in_quotes(value: str) -> str:
    return value if value[0] in "'\"" else "'" + value.replace("'", "''") + "'"


def split_globs(value: object) -> tuple[str, ...] | None:
    """The globs of a list, a comma-separated text or one text (F18): all spellings mean the same. `None` for anything else."""
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    return tuple(glob for text in texts for glob in _split_commas(text)) if len(texts) == len(items) else None


def _split_commas(text: str) -> list[str]:
    """The parts between commas outside braces, stripped, without empty ones."""
    parts: list[str] = []
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _line_of(lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines, 2) if line.lstrip().startswith("paths")), 2)
