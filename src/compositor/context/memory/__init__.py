"""Instruction files: which ones there are, in which order, and what of each reaches the model.

Decides the chain, the parsing and the safety of imports; asks for file contents as values. Never reads a file, and never takes
part in a permission decision (R119).
"""
