"""Kinds of the thread: looked at with every collection (R192)."""

from __future__ import annotations

from collections.abc import Mapping

from compositor.types.provenance import Lane

from .kinds import Category, Dedup, Kind, Restore, Speaker, Trigger

ROWS: Mapping[str, Kind] = {
    "date_change": Kind(
        about="another day has begun",
        category=Category.THREAD,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        lane=Lane.API_SYSTEM,
        producer="compositor.adapters.collectors.date:DateCollector",
    ),
    "missing_fact": Kind(
        about="something that is looked at for every request could not be had in time",
        category=Category.THREAD,
        speaker=Speaker.CLIENT,
        trigger=Trigger.CHANGE,
        restore=Restore.STATE,
        dedup=Dedup.OWNER,
        producer="compositor.runtime.collect:Collection",
    ),
}
