"""Programmable kinds: how does a hook block, or add context? (R191)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from .kinds import Category, Dedup, Kind, Restore, Speaker, Trigger


class HookSuccess(Struct, frozen=True, rename="camel"):
    hook_name: str
    hook_event: str
    content: str = ""


class HookContext(Struct, frozen=True, rename="camel"):
    hook_name: str
    content: str | tuple[str, ...]


ROWS: Mapping[str, Kind] = {
    "hook_success": Kind(
        about="a hook has run",
        category=Category.HOOK,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.HOOK,
        restore=Restore.EVENT,
        dedup=Dedup.CONTENT,
        guard=HookSuccess,
    ),
    "async_hook_response": Kind(
        about="a hook that nobody waited for has ended",
        category=Category.HOOK,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.HOOK,
        restore=Restore.EVENT,
        dedup=Dedup.CONTENT,
    ),
    "hook_blocking_error": Kind(
        about="a hook has blocked",
        category=Category.HOOK,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.HOOK,
        restore=Restore.EVENT,
        dedup=Dedup.CONTENT,
    ),
    "hook_additional_context": Kind(
        about="what a hook tells the model",
        category=Category.HOOK,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.HOOK,
        restore=Restore.EVENT,
        dedup=Dedup.CONTENT,
        guard=HookContext,
        producer="compositor.runtime.hooks:Hooks",
    ),
    "hook_system_message": Kind(
        about="what a hook tells the person",
        category=Category.HOOK,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.HOOK,
        restore=Restore.EVENT,
        dedup=Dedup.CONTENT,
    ),
}
