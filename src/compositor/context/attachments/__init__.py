"""Attachments: the table of kinds, and what their records mean when a session goes on.

Decides kinds as rows and their restoring. Rendering is `context/messages/lanes.py`.
"""
