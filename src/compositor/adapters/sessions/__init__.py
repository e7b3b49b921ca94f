"""Sessions on disk: the append-only file of each, the lock on it, stored heads, reading and listing.

Decides durability and privacy. The meaning of a line belongs to `context/transcript`.
"""
