"""The commands that take another model or another permission mode.

Decides what is shown before: a switch of the model with its price, a mode with what it means.
"""

from __future__ import annotations

import msgspec

from compositor.adapters.approvals_rules import read_approved
from compositor.cli.cache_report import Outlook
from compositor.cli.inputs import with_prompt
from compositor.config.flags import parse_mode
from compositor.config.policy_inputs import is_mode_off
from compositor.config.profile import find_profile
from compositor.errors import CompositorError, UsageError
from compositor.loop.session import compile_next
from compositor.types.verdicts import PermissionMode

from .here import Here

CYCLE = (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.PLAN)
"""The modes that Shift-Tab goes through."""


async def model(here: Here, argument: str) -> None:
    contract = here.opened.contract
    if not argument:
        here.screen.line(f"{contract.model} ({contract.profile.name})")
        here.screen.note("/model NAME switches; `compositor models` lists what is known.")
        return
    wanted = find_profile(argument)
    if wanted.model == contract.model:
        here.screen.note(f"{contract.model} is the model already.")
        return
    if here.agent.conversation.leaf is not None and not await here.person.confirms(
        f"Switch from {contract.model} to {wanted.model}?", f"  {switch_price(here)}"
    ):
        here.screen.note("The model stays.")
        return
    here.go(here.again(msgspec.structs.replace(here.opening.flags, model=argument)), None)


def switch_price(here: Here) -> str:
    """What is lost by another model, by the forecast of the next request as it is now."""
    conversation, _ = with_prompt(here.agent.conversation, None)
    opened = msgspec.structs.replace(here.opened, account=here.agent.account)
    outlook = Outlook(opened, compile_next(conversation), conversation.prefix)
    change = next(one for one in outlook.changes if one.name == "another model")
    dollars = "price unknown" if change.dollars is None else f"${change.dollars:.4f} more than reading it"
    return f"{change.lost:,} tokens of the cache are not read any more ({dollars}): {change.note}"


async def permissions(here: Here, argument: str) -> None:
    if argument:
        take_mode(here, parse_mode(argument))
        return
    modes = here.agent.modes
    here.screen.line(f"mode: {modes.mode.value if modes is not None else 'none'}")
    approved = read_approved(here.home, here.opened.places.root).rules
    known = [
        (rule.effect.value, rule.text, f"{rule.level}, {rule.file or 'command line'}")
        for rule in here.opened.policy.rules
    ]
    fresh = [("allow", text, "approved here") for text in approved if text not in {text for _, text, _ in known}]
    given = [("allow", rule.text, "this session") for rule in here.person.rules]
    for effect, text, place in (*known, *fresh, *given):
        here.screen.line(f"{effect:5} {text}  ({place})")
    here.screen.note(f"/permissions MODE takes another of: {', '.join(mode.value for mode in PermissionMode)}")


async def plan(here: Here, _argument: str) -> None:
    take_mode(here, PermissionMode.PLAN)


def take_mode(here: Here, mode: PermissionMode) -> None:
    """Raises `UsageError` for a mode that the settings switch off."""
    modes = here.agent.modes
    if modes is None or is_mode_off(mode, here.opened.contract.settings):
        raise UsageError(f"the permission mode {mode.value!r} is disabled by settings")
    modes.change(mode)
    here.screen.note(f"mode: {mode.value}")


def next_mode(here: Here) -> None:
    """The next mode of the cycle that the settings allow."""
    modes = here.agent.modes
    if modes is None:
        return
    at = CYCLE.index(modes.mode) if modes.mode in CYCLE else -1
    for mode in (*CYCLE[at + 1 :], *CYCLE[: at + 1]):
        try:
            take_mode(here, mode)
        except CompositorError:
            continue
        return
