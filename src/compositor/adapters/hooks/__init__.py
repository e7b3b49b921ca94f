"""Handlers of hooks: child processes and HTTP servers."""
