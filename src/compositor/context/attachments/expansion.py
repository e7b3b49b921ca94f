"""Kinds of input expansion: what an `@...` in a prompt, or a picture in it, really is (R184, R196)."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Category, Compacted, Kind, Restore, Speaker, Trigger

MENTION_CHARACTERS = 100_000
"""Characters of one file that is mentioned: as much as one Read call gives."""

LISTING_CHARACTERS = 8_000
"""Characters of one list of names."""

ROWS: Mapping[str, Kind] = {
    "file": Kind(
        about="lines of a file that a prompt mentions",
        category=Category.INPUT,
        speaker=Speaker.PROJECT,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        compacted=Compacted.OWNER,
        budget=MENTION_CHARACTERS,
        producer="compositor.adapters.collectors.mentions:MentionCollector",
    ),
    "directory": Kind(
        about="the names in a folder, or those that fit a pattern, that a prompt mentions",
        category=Category.INPUT,
        speaker=Speaker.PROJECT,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        budget=LISTING_CHARACTERS,
        producer="compositor.adapters.collectors.mentions:MentionCollector",
    ),
    "mcp_resource": Kind(
        about="a resource of a server that a prompt mentions",
        category=Category.INPUT,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        budget=MENTION_CHARACTERS,
        producer="compositor.adapters.collectors.mentions:MentionCollector",
    ),
    "mcp_prompt": Kind(
        about="the text of a server's prompt that was typed as a command",
        category=Category.INPUT,
        speaker=Speaker.PROGRAM,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        producer="compositor.runtime.offering:Offering.typed",
    ),
    "agent_mention": Kind(
        about="an agent that a prompt names",
        category=Category.INPUT,
        speaker=Speaker.PROJECT,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        producer="compositor.adapters.collectors.mentions:MentionCollector",
    ),
    "peer_mention": Kind(
        about="a peer that a prompt names",
        category=Category.INPUT,
        speaker=Speaker.AGENT,
        trigger=Trigger.ARRIVAL,
        restore=Restore.KEEP,
    ),
    "clipboard_image": Kind(
        about="a picture that a person put into the prompt",
        category=Category.INPUT,
        speaker=Speaker.PERSON,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        producer="compositor.adapters.pictures:clipboard_image",
    ),
    "mention_problem": Kind(
        about="a mention in quotes that names nothing, or nothing that may be read",
        category=Category.INPUT,
        speaker=Speaker.CLIENT,
        trigger=Trigger.SUBMISSION,
        restore=Restore.KEEP,
        producer="compositor.adapters.collectors.mentions:MentionCollector",
    ),
}
