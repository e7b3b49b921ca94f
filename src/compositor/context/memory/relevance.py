"""Which notes bear on what is being done: BM25 over the words of the prompt and of the paths touched (R419).

Decides the choice: at most five, at most 5,000 tokens together, ties by path, nothing when no note shares a word. Never reads a note.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct, structs

from compositor.context.ranking import rarity, relative_length, saturated, split_words
from compositor.context.tokens import estimate_tokens
from compositor.types.attachments import TextAttachment

from .automatic import Note
from .cut import cut_note
from .labels import memory_text

MAX_CHOSEN = 5
MAX_TOKENS = 5_000
KIND = "relevant_memories"

OPENING = (
    "A note from memory that may bear on this. It says what was true when it was written: check what it names.\n\n"
)

# Below this a piece of a note says nothing.
_LEAST_TOKENS = 200
_K1, _B = 1.5, 0.75

_STOP = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both but by can "
    "could did do does doing down during each else every few file files for from further get had has have having he her here "
    "him his how i if in into is it its just know let like make may me might more most much must my need no nor not now of "
    "off on once one only or other our out over own please same see she should so some such than that the their them then "
    "there these they this those through to too under until up us use used using very want was way we well were what when "
    "where which while who why will with without would yes yet you your".split()
)


class ChosenNote(Struct, frozen=True, kw_only=True):
    """A note on its way to the model. `lines` of it are shown (R123: the optional limit)."""

    note: Note
    attachment: TextAttachment
    lines: int


def select_notes(notes: Sequence[Note], query: str, told: Iterable[TextAttachment]) -> tuple[ChosenNote, ...]:
    """The notes that bear on `query`, best first. One that was told and reads the same is not told again (R123)."""
    known = {(note.path, note.text) for note in told if note.kind == KIND}
    chosen: list[ChosenNote] = []
    left = MAX_TOKENS
    for note in ranked(notes, query)[:MAX_CHOSEN]:
        if left < _LEAST_TOKENS:
            break
        fitted = _fitted(note, left)
        left -= _tokens(fitted.attachment.text)
        chosen.append(fitted)
    return tuple(one for one in chosen if (one.attachment.path, one.attachment.text) not in known)


def ranked(notes: Sequence[Note], query: str) -> list[Note]:
    """The notes that share a word with `query`, best first, ties by path."""
    asked = frozenset(words(query))
    documents = [_document(note.name, note.file.text) for note in notes]
    lengths = [sum(document.values()) for document in documents]
    average = sum(lengths) / max(len(lengths), 1) or 1.0
    spread = Counter(word for document in documents for word in document)

    def score(document: Counter[str], length: int) -> float:
        held = relative_length(length, average, _B)
        shared = (word for word in asked if word in document)
        return math.fsum(rarity(len(notes), spread[word]) * saturated(document[word] / held, _K1) for word in shared)

    scores = [score(document, length) for document, length in zip(documents, lengths, strict=True)]
    order = sorted(range(len(notes)), key=lambda place: (-scores[place], notes[place].file.path))
    return [notes[place] for place in order if scores[place] > 0]


def words(text: str) -> list[str]:
    """The words of a text, a path or a name, cut at capitals and punctuation, in lower case, without filler."""
    return [word for word in split_words(text) if len(word) > 1 and word not in _STOP]


@lru_cache(maxsize=1_024)
def _document(name: str, text: str) -> Counter[str]:
    """The words of a note; those of its name, without the ending that every note has, count twice more."""
    plain = name.rpartition(".")[0]
    return Counter(words(f"{plain} {plain} {text}"))


def _fitted(note: Note, left: int) -> ChosenNote:
    """The note, cut until it fits the room that is left."""
    file = note.file
    size: int | None = None
    while True:
        cut = cut_note(file.text, file.path, size)
        text = OPENING + memory_text(structs.replace(file, text=cut.text))
        tokens = _tokens(text)
        if tokens <= left or size == 0:
            attachment = TextAttachment(kind=KIND, text=text, path=file.path, name=file.level.name.lower())
            return ChosenNote(note=note, attachment=attachment, lines=cut.lines)
        shown = len(cut.text.encode("utf-8", "replace"))
        size = int(shown * left / tokens * 0.95) if size is None else int(size * min(left / tokens, 0.95))


def _tokens(text: str) -> int:
    return estimate_tokens(text.encode("utf-8", "replace"))
