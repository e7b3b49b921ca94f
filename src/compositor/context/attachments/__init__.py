"""Attachments: the table of kinds, and what their records mean when a session goes on.

Decides kinds as rows, a file a category, their words and their restoring. Which lane carries them is `context/messages/lanes.py`.
"""
