"""The failure matrix: what may go wrong around a request without ending it, a row each with its five columns (R387 to R395).

Decides the rows and the words of their columns. What is detected, and the action itself, stands where the row says; `runtime/failures.py` sees that
each gives one event.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class FailureRow(Struct, frozen=True, kw_only=True):
    """One row. `kept` is the state that the action preserves, `effect` what the user and the model notice."""

    id: str
    failure: str
    detection: str
    action: str
    kept: str
    effect: str


class FailureMet(Struct, frozen=True, kw_only=True):
    """A row that happened. `what` names the place: a source, a path, a rule or the service's own words."""

    row: FailureRow
    what: str


GENERATOR = "R387"
TOUCHED = "R388"
DIFFERENCES = "R389"
LANE = "R390"
MARKER = "R391"
PAIR = "R392"
TOO_LARGE = "R393"
MALFORMED = "R394"

ROWS: Mapping[str, FailureRow] = {
    row.id: row
    for row in (
        FailureRow(
            id=GENERATOR,
            failure="a source of notes failed or took too long",
            detection="its exception, or the deadline of 1 s",
            action="left out of this request, with a remark",
            kept="messages, system prompt and tools",
            effect="the request goes on with one item missing",
        ),
        FailureRow(
            id=TOUCHED,
            failure="a file has another time and the same content",
            detection="the digest of the content",
            action="its new time is taken over, no difference is told",
            kept="what counts as read",
            effect="no reminder about nothing",
        ),
        FailureRow(
            id=DIFFERENCES,
            failure="the differences of changed files are too long",
            detection="a running sum over 16,384 characters",
            action="the fact is told and its difference left out",
            kept="paths and what counts as read",
            effect="the model reads the file where it needs it",
        ),
        FailureRow(
            id=LANE,
            failure="a system message inside the conversation was refused",
            detection="a 400 that names it",
            action="reminders in place of it for the rest of the session, and one more request",
            kept="the top-level system prompt and the history",
            effect="no second refusal; such notes have less authority",
        ),
        FailureRow(
            id=MARKER,
            failure="the cache marker on a system message was refused",
            detection="a 400 that names it",
            action="the marker moves to the message before it, and one more request",
            kept="the content, and the lane",
            effect="one more request, nothing lost",
        ),
        FailureRow(
            id=PAIR,
            failure="something stood between a call and its result, or in place of it",
            detection="the repair of roles and pairs",
            action="moved behind the result, or a result put in its place",
            kept="which result answers which call",
            effect="the model can match results",
        ),
        FailureRow(
            id=TOO_LARGE,
            failure="a file seen before is too large behind a compaction",
            detection="the budget of what is restored",
            action="named, not shown",
            kept="its path and that it was read",
            effect="it is read again where it is needed",
        ),
        FailureRow(
            id=MALFORMED,
            failure="a record of a stored session cannot be read",
            detection="the guard of its shape when it is loaded",
            action="left out and recorded",
            kept="the rest of the conversation",
            effect="a gap at one place",
        ),
    )
}


def met(row: str, what: str) -> FailureMet:
    return FailureMet(row=ROWS[row], what=what)
