"""Checks a call's input against the tool's JSON Schema (2020-12), without ever following a reference out of it.

Decides whether the input has the promised shape. A schema that cannot be used refuses the call: it never counts as no schema.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Raw

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

MAX_PROBLEMS = 5


def check_schema(schema: Raw, value: Any) -> tuple[str, ...]:
    """What is wrong with `value`, at most five sentences with the place in the input; empty when nothing is.

    Raises `ValueError` when the schema itself is invalid or refers to anything outside of itself.
    """
    problems = []
    for problem in _validator(bytes(schema)).iter_errors(value):
        place = ".".join(str(part) for part in problem.instance_path)
        problems.append(f"{place or 'input'}: {problem.message}")
        if len(problems) == MAX_PROBLEMS:
            break
    return tuple(problems)


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator  # heavy: only a tool call needs it

    return Draft202012Validator(schema.decode(), retriever=_refuse)


def _refuse(uri: str) -> Any:
    raise ValueError(f"the schema refers to {uri!r}, and a schema may refer only to itself")
