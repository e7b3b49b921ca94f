"""The system prompt and the two contexts: which texts there are, in which order, and which prompt applies.

Decides order, choice and layout. Never decides what is cached or permitted, and never looks at the machine itself: facts come in as values.
"""
