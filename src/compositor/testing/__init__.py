"""What others may use to test against this program: the emulator as a pytest fixture, and doubles for the ports.

Decides the public names; a change here is a change for others. Nothing in the product imports it.
"""
