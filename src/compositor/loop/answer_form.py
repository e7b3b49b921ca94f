"""The form that a caller asks of a turn's last answer: a JSON Schema, told at the tail and checked here.

Decides whether a text is a value of that form, and the words in which the model is told. The schema never enters the prefix, so asking for a
form costs no cache and works for a session that goes on. A value that does not fit is never handed on.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Raw, Struct

from compositor.errors import UsageError
from compositor.policy.schema import check_schema
from compositor.types.json import decode_json

TRIES = 5
"""How often a turn is gone on with because its answer does not fit, before it ends with an error."""

# A model that was asked for bare JSON still likes to wrap it; the wrapping is no part of the value.
_FENCED = re.compile(r"\A\s*```(?:json)?[ \t]*\n(?P<inside>.*?)\n?```\s*\Z", re.DOTALL)


class AnswerForm(Struct, frozen=True):
    """`schema` is one JSON Schema (2020-12) of any type, compact."""

    schema: Raw

    @property
    def instruction(self) -> str:
        return (
            "The caller reads the last message of this turn with a program. Once the work is done, answer with one JSON value that fits "
            "this JSON Schema and with nothing beside it, no words and no code fence:\n" + bytes(self.schema).decode()
        )


class FormedAnswer(Struct, frozen=True):
    """`value` as decoded JSON; `problem` says in words why the text is no such value, and is empty when it is one."""

    value: Any = None
    problem: str = ""


def parse_form(text: str) -> AnswerForm:
    """The form that `--json-schema` names. Raises `UsageError` for what is no JSON Schema."""
    try:
        schema = msgspec.json.decode(text)
    except msgspec.DecodeError as problem:
        raise _no_schema(f"it is no JSON: {problem}") from None
    if not isinstance(schema, dict | bool):
        raise _no_schema("a schema is an object")
    form = AnswerForm(Raw(msgspec.json.encode(schema)))
    try:
        check_schema(form.schema, None)
    except ValueError as problem:
        raise _no_schema(str(problem)) from None
    return form


def read_answer(form: AnswerForm, text: str) -> FormedAnswer:
    """The value in the text of an answer."""
    fenced = _FENCED.match(text)
    inside = fenced["inside"] if fenced is not None else text.strip()
    if not inside:
        return FormedAnswer(problem="the message has no text")
    try:
        value = decode_json(inside)
    except (ValueError, RecursionError) as problem:
        return FormedAnswer(problem=f"it is no JSON: {problem}")
    problems = check_schema(form.schema, value)
    return FormedAnswer(problem="; ".join(problems)) if problems else FormedAnswer(value=value)


def correction(problem: str) -> str:
    """What the model is told about an answer that does not fit."""
    return f"Your last message is not the JSON value that the caller asked for: {problem}. Send the corrected value, and nothing beside it."


def _no_schema(why: str) -> UsageError:
    return UsageError(
        f"'--json-schema' is no JSON Schema: {why}",
        hint="""Give one inline, as in --json-schema '{"type": "object", "properties": {"done": {"type": "boolean"}}}'""",
    )
