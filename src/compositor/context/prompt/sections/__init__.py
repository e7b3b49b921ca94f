"""The texts of the system prompt, one section a file, in our own words.

Decides what each section says. Order, zone and condition of a section stand in `order.py`, one folder up.
"""
