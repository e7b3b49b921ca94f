"""Compaction: the last resort when a conversation outgrows its window (R281, R314). Pure: it plans, and reads what it is given."""
