"""What the model has seen of files, and which of them are not what it saw.

Decides from values alone; files are looked at by `adapters`.
"""
