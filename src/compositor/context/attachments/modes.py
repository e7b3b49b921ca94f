"""Kinds of mode: how to act in this round and when to wind up? (R188, R194)."""

from __future__ import annotations

from collections.abc import Mapping

from compositor.types.provenance import Lane

from .kinds import Category, Dedup, Kind, Persistence, Restore, Speaker, Trigger

ROWS: Mapping[str, Kind] = {
    "plan_mode": Kind(
        about="plan mode holds: nothing is changed",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.COUNTER,
        lane=Lane.API_SYSTEM,
        producer="compositor.context.attachments.reminders:mode_notes",
    ),
    "plan_mode_exit": Kind(
        about="plan mode has ended",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        lane=Lane.API_SYSTEM,
        producer="compositor.context.attachments.reminders:mode_notes",
    ),
    "auto_mode": Kind(
        about="calls are judged by rules, nobody is asked",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        lane=Lane.API_SYSTEM,
        producer="compositor.context.attachments.reminders:mode_notes",
    ),
    "auto_mode_exit": Kind(
        about="somebody is asked again",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        lane=Lane.API_SYSTEM,
        producer="compositor.context.attachments.reminders:mode_notes",
    ),
    "mode_change": Kind(
        about="another permission mode holds",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        lane=Lane.API_SYSTEM,
    ),
    "output_style": Kind(
        about="the style of answers, told again",
        category=Category.MODE,
        speaker=Speaker.PROJECT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        producer="compositor.context.attachments.reminders:style_notes",
    ),
    "critical_reminder": Kind(
        about="a word of the embedder that must not fade",
        category=Category.MODE,
        speaker=Speaker.PROJECT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.KEEP,
    ),
    "token_usage": Kind(
        about="how much of the window is in use",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        lane=Lane.TURN_SYSTEM,
        persistence=Persistence.TURN,
        producer="compositor.adapters.collectors.usage:UsageCollector",
    ),
    "budget": Kind(
        about="how much of the money or the requests of a turn is left",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        lane=Lane.TURN_SYSTEM,
        persistence=Persistence.TURN,
        producer="compositor.adapters.collectors.usage:UsageCollector",
    ),
    "answer_form": Kind(
        about="the form that the last answer must have",
        category=Category.MODE,
        speaker=Speaker.PERSON,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        producer="compositor.runtime.tail:Tail",
    ),
    "output_limit": Kind(
        about="the last answer was cut at the output limit, and how to go on",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.KEEP,
        producer="compositor.loop.output:cut_note",
    ),
    "total_tokens_reminder": Kind(
        about="how many tokens a session may use, of older clients",
        category=Category.MODE,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
    ),
}
