"""Kinds of asynchronous work: how does running or finished work come back to the conversation? (R190, R199)."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Category, Compacted, Kind, Restore, Speaker, Trigger

ROWS: Mapping[str, Kind] = {
    "queued_command": Kind(
        about="something said while the agent was busy",
        category=Category.BACKGROUND,
        speaker=Speaker.PERSON,
        trigger=Trigger.ARRIVAL,
        restore=Restore.KEEP,
        producer="compositor.runtime.agent:Agent.receive",
    ),
    "task_status": Kind(
        about="tasks that are open, running or done",
        category=Category.BACKGROUND,
        speaker=Speaker.AGENT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.STATE,
        compacted=Compacted.OWNER,
        producer="compositor.context.compaction.restore:restore_tasks",
    ),
    "agent_pending_message": Kind(
        about="a message of another agent",
        category=Category.BACKGROUND,
        speaker=Speaker.AGENT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.KEEP,
    ),
    "team_context": Kind(
        about="who else works on this",
        category=Category.BACKGROUND,
        speaker=Speaker.AGENT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.STATE,
    ),
    "todo_reminder": Kind(
        about="the list of things to do has not been looked at for a while",
        category=Category.BACKGROUND,
        speaker=Speaker.CLIENT,
        trigger=Trigger.COLLECTION,
        restore=Restore.COUNTER,
        producer="compositor.context.attachments.reminders:list_notes",
    ),
    "task_reminder": Kind(
        about="the list of tasks has not been looked at for a while",
        category=Category.BACKGROUND,
        speaker=Speaker.CLIENT,
        trigger=Trigger.COLLECTION,
        restore=Restore.COUNTER,
        producer="compositor.context.attachments.reminders:list_notes",
    ),
}
