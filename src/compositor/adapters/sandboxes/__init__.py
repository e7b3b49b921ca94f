"""Sandboxes of shell commands, one technology a file."""
