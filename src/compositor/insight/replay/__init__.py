"""Replay: recorded transcripts read as the requests they were made of. What was sent, what it cost, where the cache broke."""
