"""Benchmarks: counts and ratios against a named floor in the same run. Never a timed test."""
