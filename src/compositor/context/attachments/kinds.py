"""What every kind of attachment declares of itself (R195).

Decides the vocabulary of the table: the fields of a row and what each value means. Which kinds there are is said in the category files.
"""

from __future__ import annotations

import enum

from msgspec import Struct

from compositor.types.provenance import Lane


class Category(enum.StrEnum):
    """Which question the kind answers (R184 to R193)."""

    INPUT = "input expansion"
    FRESHNESS = "file freshness"
    INSTRUCTIONS = "instructions and memory"
    CAPABILITY = "capability"
    MODE = "mode"
    EDITOR = "editor and diagnostics"
    BACKGROUND = "asynchronous work"
    HOOK = "programmable"
    THREAD = "thread level"
    RESTORED = "restored after compaction"


class Speaker(enum.StrEnum):
    """The class of a kind: whose words it can carry. Only the client's own may take the lane of the operator (R220, R228)."""

    CLIENT = "the client itself"
    PERSON = "a person"
    PROJECT = "files of the project"
    PROGRAM = "a program of the user's: hook, editor, server"
    AGENT = "another agent or a task"


class Trigger(enum.StrEnum):
    """When a record of the kind comes to be."""

    SUBMISSION = "with a prompt"
    COLLECTION = "with a prompt and after each tool batch"
    CHANGE = "when what was told last no longer holds"
    TOOL = "when a tool call ends"
    HOOK = "when a hook has run"
    COMPACTION = "behind a compaction"
    ARRIVAL = "when it arrives from outside"


class Persistence(enum.StrEnum):
    """How long a record counts. All are stored with the session."""

    CONVERSATION = "stays in the conversation"
    TURN = "for the turn, where the service scopes it so (L38)"


class Restore(enum.StrEnum):
    """What a record of the kind means after a resume.

    `KEEP`: part of the conversation as it was, nothing is made of it. `STATE`: its newest record is what was told last
    (R339). `DELTA`: all its records add up to what was announced (R342, R343). `COUNTER`: the turns since its newest record
    count (R344). `EVENT`: happened once, and never again for the same content (R341). `OBSOLETE`: of older clients, no longer
    part of anything (R338).
    """

    KEEP = "keep"
    STATE = "state"
    DELTA = "delta"
    COUNTER = "counter"
    EVENT = "event"
    OBSOLETE = "obsolete"


class Compacted(enum.StrEnum):
    """What becomes of the kind when the conversation is compacted.

    `SUMMARY`: it is part of what is summarised. `OWNER`: its owner hands it over again (R317 to R327). `COLLECTOR`: it is told anew by the
    next collection, for it is not told any more.
    """

    SUMMARY = "summary"
    OWNER = "owner"
    COLLECTOR = "collector"


class Dedup(enum.StrEnum):
    """What makes a second record a repetition, always within one kind (R340).

    `CONTENT`: the same payload (R341). `NAMES`: no name that was not announced before (R342, R343). `OWNER`: the same owner
    (a file, a section) told the same text. `NONE`: nothing does.
    """

    NONE = "none"
    CONTENT = "content"
    NAMES = "names"
    OWNER = "owner"


class Kind(Struct, frozen=True, kw_only=True):
    """One row. `about` is one sentence; `lane` the carrier that it may take where model and platform have it.

    `budget` is the most characters of one record, 0 where the producer's own limits hold. `producer` is the function or class that makes it,
    as `module:name`; empty for a kind that only an embedder brings in, through `Agent.receive` (R422). `guard` is the shape that a stored
    payload must have; `None` for a kind that passes by default (R338). `names` are the fields of the payload that hold announced and
    withdrawn names, for a `DELTA`.
    """

    about: str
    category: Category
    speaker: Speaker
    trigger: Trigger
    restore: Restore
    compacted: Compacted = Compacted.SUMMARY
    lane: Lane = Lane.REMINDER
    dedup: Dedup = Dedup.NONE
    persistence: Persistence = Persistence.CONVERSATION
    budget: int = 0
    producer: str = ""
    guard: type[Struct] | None = None
    names: tuple[str, str] = ("", "")
