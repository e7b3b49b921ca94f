"""Collectors: what is asked of the outside while a session runs. Each performs the reading for one kind of note."""
