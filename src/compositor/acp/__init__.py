"""The Agent Client Protocol: sessions for an editor that started this program and shows what it does.

Decides how a session looks to an editor. Knows nothing of the command line; the protocol's own shapes come from the official package, which
is an extra (`acp`) and imported only here.
"""
