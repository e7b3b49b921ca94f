"""Reading many transcripts for a replay, keeping what was found, and writing its reports."""
