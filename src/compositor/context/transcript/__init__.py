"""The physical transcript, its logical graph and its send journal: bytes to values and back (R148).

Decides how a session is written as lines, which of its entries are the conversation, and how the records of other tools
become the same values. Never touches a file (`adapters/sessions`), and never decides what is sent (`context/messages`).
"""
