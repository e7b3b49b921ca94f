"""The built-in tools, performed on real files and processes. `toolbox.py` is the door."""
