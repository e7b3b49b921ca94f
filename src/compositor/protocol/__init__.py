"""The agent-SDK protocol (project-conventions 11.2): what a run prints for programs, and what programs write to it.

Decides the shapes on the wire between a run and the program that started it. Runs nothing; `cli` and its streams are the caller's.
"""
