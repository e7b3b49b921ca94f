"""Telemetry by the OpenTelemetry GenAI conventions: off unless a person turns it on, and then for every way a turn is run.

Decides nothing about a run: a collector that cannot be reached costs it nothing but a few seconds at its end.
"""
