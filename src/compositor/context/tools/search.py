"""Finding a deferred tool: BM25 over names, descriptions and parameters, or exact names (R242).

Decides the ranking. The same tools and the same query always give the same list. Never loads a tool.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, Final

from compositor.context.ranking import rarity, relative_length, saturated, split_words
from compositor.types.json import decode_json
from compositor.types.tools import ToolDefinition

DEFAULT_RESULTS: Final = 5
MAX_RESULTS: Final = 20
SELECT: Final = "select:"
"""A query that begins so names tools exactly, separated by commas."""

# How soon a repeated word stops to count.
_K1: Final = 1.2
# Fields of a tool: what a word in it counts, and how much a long field is held back (BM25 over fields).
_FIELDS: Final = {
    "name": (3.0, 0.75),
    "server": (2.0, 0.0),
    "purpose": (1.5, 0.5),
    "description": (0.7, 0.7),
    "inputs": (0.3, 0.7),
}
# What another word for the same counts.
_RELATED: Final = 0.7
# A query that names a server means that server.
_NAMED_SERVER: Final = 1.6
# How much of the score hangs on the query saying the whole name: `get_page` before `get_page_views`.
_WHOLE_NAME: Final = 0.5
_UNASKED_CHANGE: Final = 0.8
_SHORTEST_HALF: Final = 3
# A description's first words say what the tool is for; what follows is how to call it.
_MAX_DESCRIPTION: Final = 1_500

# Who asks a question wants to read something.
_QUESTION = re.compile(r"^\s*(?:who|what|which|when|where)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_STOP: Final = frozenset(
    "a an and any are as at be by can do for from have how i if in into is it its me my not of on one or our out so some "
    "than that the their them then there these this those to up use used using via want was we what when where which who "
    "will with would you your need needs please tool tools mcp".split()
)

# Words that a person says for what a tool's author calls otherwise. One line is one meaning.
_MEANINGS: Final = tuple(
    frozenset(line.split())
    for line in (
        "create add new make insert open",
        "multiple several many batch bulk",
        "open navigate go visit browse",
        "start begin record launch",
        "stop end finish cancel",
        "current now today",
        "delete remove erase drop destroy clear",
        "get read fetch retrieve show view load obtain display look see",
        "list enumerate ls all",
        "search find query lookup locate discover",
        "update edit modify change patch rewrite alter set",
        "send post publish write submit",
        "picture image screenshot photo snapshot capture",
        "website site page webpage web url",
        "ticket issue bug",
        "directory folder",
        "repository repo project",
        "pull merge pr",
        "message chat dm",
        "comment reply respond answer",
        "people person user member contact colleague",
        "time clock hour",
        "run execute evaluate invoke",
        "rename move relocate",
        "history log commits",
        "difference diff compare changed",
        "internet online web",
        "doc documentation docs document",
        "database db",
        "table collection",
        "row record document",
        "press click tap push",
        "type enter fill input",
        "copy duplicate fork clone",
    )
)


class ToolIndex:
    """A searchable list of tools. Build a new one when the list changes."""

    def __init__(self, tools: Iterable[ToolDefinition]) -> None:
        self._tools = tuple(sorted(tools, key=lambda tool: tool.name))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self._tools)

    def find(self, query: str, limit: int = DEFAULT_RESULTS) -> tuple[str, ...]:
        """Names of the tools that answer `query`, best first; at most `limit`.

        `select:a,b` takes tools by name, with or without the `mcp__server__` in front; a word with a `+` must be in the name of
        the tool or its server.
        """
        if query.strip().lower().startswith(SELECT):
            return self._select(query.strip()[len(SELECT) :])[:limit]
        exact = self._select(query)
        if exact:
            return exact[:limit]
        required = [word for part in query.split() if part.startswith("+") for word in words(part)]
        scores = self._scores(query)
        ranked = sorted(
            (name for name, score in scores.items() if score > 0 and self._has(name, required)),
            key=lambda name: (-scores[name], name),
        )
        return tuple(ranked[:limit])

    def _select(self, names: str) -> tuple[str, ...]:
        known = {tool.name.lower(): tool.name for tool in self._tools}
        short: dict[str, list[str]] = {}
        for tool in self._tools:
            short.setdefault(tool.name.rpartition("__")[2].lower(), []).append(tool.name)
        found: list[str] = []
        for wanted in (part.strip().lower() for part in names.split(",")):
            found.extend([known[wanted]] if wanted in known else short.get(wanted, []))
        return tuple(dict.fromkeys(found))

    def _has(self, name: str, required: Sequence[str]) -> bool:
        return set(required) <= set(words(name))

    @cached_property
    def _documents(self) -> dict[str, Mapping[str, float]]:
        """Each tool's words with their weight over all fields, by field length."""
        fields = {tool.name: tool_fields(tool) for tool in self._tools}
        known = {word for found in fields.values() for part in found.values() for word in part}
        fields = {
            name: {field: _with_parts(part, known) for field, part in found.items()} for name, found in fields.items()
        }
        average = {
            field: sum(len(found[field]) for found in fields.values()) / max(len(fields), 1) or 1.0 for field in _FIELDS
        }
        return {name: _weighted(found, average) for name, found in fields.items()}

    @cached_property
    def _rarity(self) -> dict[frozenset[str], float]:
        """How much a word, or any of several words for one thing, tells: what is rare much, what every tool has nothing."""
        containing = Counter(
            meaning
            for document in self._documents.values()
            for meaning in {
                *(frozenset({word}) for word in document),
                *(meaning for word in document for meaning in _MEANINGS_OF.get(word, ())),
            }
        )
        count = len(self._documents)
        return {meaning: rarity(count, n) for meaning, n in containing.items()}

    def _scores(self, query: str) -> dict[str, float]:
        asked = dict.fromkeys(words(_QUESTION.sub("get", query)))
        return {
            name: sum(self._worth(word, document) for word in asked) * self._emphasis(name, asked)
            for name, document in self._documents.items()
        }

    def _emphasis(self, name: str, asked: Collection[str]) -> float:
        """More for a tool whose server the query names and whose name it says in full; less for one that changes what it only asks."""
        server, tool = (tuple(words(part)) for part in _parts(name))
        said = sum(1 for one in asked if any(word == one or word in _relatives(one) for word in tool))
        said = min(said, len(tool))
        factor = 1 - _WHOLE_NAME + _WHOLE_NAME * said / max(len(tool), 1)
        if not _CHANGING.isdisjoint(tool) and _CHANGING.isdisjoint(asked):
            factor *= _UNASKED_CHANGE
        return factor if set(asked).isdisjoint(server) else factor * _NAMED_SERVER

    def _worth(self, word: str, document: Mapping[str, float]) -> float:
        """What the tool has for one word of the query: the word itself, or the best other word for it."""
        found = [self._value(document.get(word, 0.0), frozenset({word}))]
        for meaning in _MEANINGS_OF.get(word, ()):
            best = max(document.get(other, 0.0) for other in meaning)
            found.append(_RELATED * self._value(best, meaning))
        return max(found)

    def _value(self, weight: float, meaning: frozenset[str]) -> float:
        return self._rarity[meaning] * saturated(weight, _K1) if weight else 0.0


def words(text: str) -> tuple[str, ...]:
    """The words of a text or name, cut at capitals and underscores, lower case, endings taken off, without filler."""
    return tuple(_stem(word) for word in split_words(text) if word not in _STOP)


def summary(tool: ToolDefinition, limit: int) -> str:
    """What the tool is for, in one line: the first sentence of its description, cut at a word."""
    line = next((part.strip() for part in _SENTENCE.split(tool.description) if part.strip()), "")
    line = " ".join(line.split()).rstrip(".:")
    return line if len(line) <= limit else line[: limit - 1].rsplit(" ", 1)[0] + "…"


def tool_fields(tool: ToolDefinition) -> dict[str, tuple[str, ...]]:
    """The words of a tool, field by field."""
    server, name = _parts(tool.name)
    description = tool.description.strip()[:_MAX_DESCRIPTION]
    purpose = _SENTENCE.split(description, maxsplit=1)[0]
    return {
        "name": words(name),
        "server": words(server),
        "purpose": words(purpose),
        "description": words(description[len(purpose) :]),
        "inputs": words(" ".join(_parameters(tool))),
    }


def _with_parts(found: Sequence[str], known: Set[str]) -> tuple[str, ...]:
    """A compound counts as its halves too: `worklog` as `work` and `log`, where others use those words."""
    halves = (
        half
        for word in found
        if len(word) >= 2 * _SHORTEST_HALF
        for cut in range(_SHORTEST_HALF, len(word) - _SHORTEST_HALF + 1)
        for pair in ((_stem(word[:cut]), _stem(word[cut:])),)
        if known >= set(pair)
        for half in pair
    )
    return (*found, *halves)


def _parts(name: str) -> tuple[str, str]:
    """Server and tool of a name; a name without a server has an empty one."""
    server, _, tool = name.removeprefix("mcp__").rpartition("__")
    return server, tool


def _weighted(fields: Mapping[str, Sequence[str]], average: Mapping[str, float]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for field, (weight, hold) in _FIELDS.items():
        relative = relative_length(len(fields[field]), average[field], hold)
        for word, count in Counter(fields[field]).items():
            found[word] = found.get(word, 0.0) + weight * count / relative
    return found


def _parameters(tool: ToolDefinition) -> Iterator[str]:
    schema: Any = decode_json(bytes(tool.input_schema))
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, value in (properties if isinstance(properties, dict) else {}).items():
        yield name
        if isinstance(value, dict) and isinstance(value.get("description"), str):
            yield value["description"][:200]


def _stem(word: str) -> str:
    """A word without plural and verb ending; rough, but the same for query and tool."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith("es") and word[-3] in "sxzh":
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed", "er"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
    return word.rstrip("e") if len(word) > 4 else word


def _meanings_of() -> dict[str, tuple[frozenset[str], ...]]:
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for meaning in (frozenset(_stem(word) for word in meaning) for meaning in _MEANINGS):
        for word in meaning:
            found[word] = (*found.get(word, ()), meaning)
    return found


def _relatives(word: str) -> frozenset[str]:
    return frozenset().union(*_MEANINGS_OF.get(word, ()))


_MEANINGS_OF: Final = _meanings_of()
_CHANGING: Final = frozenset(
    map(
        _stem,
        "create add insert delete remove drop update edit modify write set send post move rename convert push merge commit "
        "start stop upload assign link close resize".split(),
    )
)
