"""The interactive prompt: what a person at a terminal sees and types.

Decides how a session is shown and driven by hand. What it shows is computed by what the commands use; nothing of it influences a request.
"""
