"""All input and output, one small file for each edge.

Performs effects and reports what happened. Never decides: decisions are pure and stand below.
"""
