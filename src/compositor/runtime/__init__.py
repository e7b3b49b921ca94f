"""Performs the loop's effects through ports: the only place with concurrency, deadlines and cancellation."""
