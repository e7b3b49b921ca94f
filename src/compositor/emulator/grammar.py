"""How the form of a JSON value is said and checked: keys, types, tags, betas. The tables that use it are `shapes.py`.

Decides the message of a value that is missing, ill-typed or not expected. Knows no field of the service by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from .profile import ServiceProfile
from .refusal import Refusal

CURRENT_VERSION = "2026-10-21"


class Circumstances(Struct, frozen=True, kw_only=True):
    """What the rules know beside the body. `counting`: the body goes to `count_tokens`."""

    betas: frozenset[str]
    version: str
    profile: ServiceProfile
    counting: bool = False

    @property
    def is_current(self) -> bool:
        """Whether the version of 2026-10-21 or a later one is in force. A version ends in its date, which compares as text."""
        return self.version[-len(CURRENT_VERSION) :] >= CURRENT_VERSION

    def has(self, betas: tuple[str, ...]) -> bool:
        return not betas or any(beta in self.betas for beta in betas)


Check: TypeAlias = Callable[[str, Any, Circumstances], Iterator[Refusal]]


class Key(Struct, frozen=True, kw_only=True):
    """One key of an object. `rule`: of a missing or wrong value; `beta_rule`: when none of `betas` is sent. A null stands for absence."""

    check: Check
    required: bool = False
    rule: str | None = None
    betas: tuple[str, ...] = ()
    beta_rule: str = "L09"


class Form(Struct, frozen=True, kw_only=True):
    """An object. `refused`: keys that have a rule of their own. `betas`: one of them must be sent, else the object is not known."""

    keys: Mapping[str, Key] = {}
    refused: Mapping[str, str] = {}
    is_open: bool = False
    betas: tuple[str, ...] = ()
    beta_rule: str | None = None


def anything(_at: str, _value: Any, _with: Circumstances) -> Iterator[Refusal]:
    yield from ()


def text(at: str, value: Any, _with: Circumstances) -> Iterator[Refusal]:
    if not isinstance(value, str):
        yield Refusal(message=f"{at}: Input should be a valid string")


def flag(at: str, value: Any, _with: Circumstances) -> Iterator[Refusal]:
    if not isinstance(value, bool):
        yield Refusal(message=f"{at}: Input should be a valid boolean")


def whole(at: str, value: Any, _with: Circumstances) -> Iterator[Refusal]:
    if not isinstance(value, int) or isinstance(value, bool):
        yield Refusal(message=f"{at}: Input should be a valid integer")


def number(at: str, value: Any, _with: Circumstances) -> Iterator[Refusal]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        yield Refusal(message=f"{at}: Input should be a valid number")


def mapping(at: str, value: Any, _with: Circumstances) -> Iterator[Refusal]:
    if not isinstance(value, dict):
        yield Refusal(message=f"{at}: Input should be a valid dictionary")


def one_of(*values: str) -> Check:
    said = ", ".join(f"'{value}'" for value in values)

    def check(at: str, value: Any, _with: Circumstances) -> Iterator[Refusal]:
        if value not in values:
            yield Refusal(message=f"{at}: Input should be {said}")

    return check


def rows(item: Check) -> Check:
    """A list of such values."""

    def check(at: str, value: Any, given: Circumstances) -> Iterator[Refusal]:
        if not isinstance(value, list):
            yield Refusal(message=f"{at}: Input should be a valid list")
            return
        for index, element in enumerate(value):
            yield from item(f"{at}.{index}", element, given)

    return check


def text_or(other: Check) -> Check:
    def check(at: str, value: Any, given: Circumstances) -> Iterator[Refusal]:
        if not isinstance(value, str):
            yield from other(at, value, given)

    return check


def record(form: Form) -> Check:
    """An object of this form."""

    def check(at: str, value: Any, given: Circumstances) -> Iterator[Refusal]:
        if not isinstance(value, dict):
            yield Refusal(message=f"{at or 'body'}: Input should be a valid dictionary")
            return
        yield from _missing(at, value, form)
        yield from _foreign(at, value, form, given)
        for name, key in form.keys.items():
            if value.get(name) is not None:
                for found in key.check(_join(at, name), value[name], given):
                    yield found if found.rule or not key.rule else _with_rule(found, key.rule)

    return check


def tagged(forms: Mapping[str, Form], *, tag: str = "type", default: str | None = None, names: bool = True) -> Check:
    """An object whose `tag` says which form it has; without it the form is `default`. `names`: paths name the tag."""

    def check(at: str, value: Any, given: Circumstances) -> Iterator[Refusal]:
        if not isinstance(value, dict):
            yield Refusal(message=f"{at}: Input should be a valid dictionary")
            return
        kind = value.get(tag) if value.get(tag) is not None else default
        if kind is None:
            yield Refusal(message=f"{at}.{tag}: Field required")
            return
        form = forms.get(kind) if isinstance(kind, str) else None
        if form is None or not given.has(form.betas):
            yield Refusal(
                message=f"{at}: Input tag '{kind}' found using '{tag}' does not match any of the expected tags: "
                + ", ".join(f"'{name}'" for name in forms),
                rule=form.beta_rule if form else None,
            )
            return
        yield from record(form)(f"{at}.{kind}" if names else at, value, given)

    return check


def _missing(at: str, value: Mapping[str, Any], form: Form) -> Iterator[Refusal]:
    for name, key in form.keys.items():
        if key.required and value.get(name) is None:
            yield Refusal(message=f"{_join(at, name)}: Field required", rule=key.rule)


def _foreign(at: str, value: Mapping[str, Any], form: Form, given: Circumstances) -> Iterator[Refusal]:
    for name in value:
        key = form.keys.get(name)
        if key is not None and not given.has(key.betas):
            yield Refusal(message=f"{_join(at, name)}: Extra inputs are not permitted", rule=key.beta_rule)
        elif key is None and not (form.is_open and name not in form.refused):
            rule = form.refused.get(name, "L09")
            yield Refusal(message=f"{_join(at, name)}: Extra inputs are not permitted", rule=rule)


def _with_rule(found: Refusal, rule: str) -> Refusal:
    return Refusal(message=found.message, status=found.status, type=found.type, error_code=found.error_code, rule=rule)


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name
