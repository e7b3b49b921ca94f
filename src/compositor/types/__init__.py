"""Frozen values that cross a folder line.

This folder decides what the product's values look like. It never computes with them beyond cheap, total
conversions, and it imports nothing above `errors`.
"""
