"""Configuration: settings layers, model and platform facts as data, flags, and the run contract made of them.

Decides what a run may be. Pure, with one exception: `data.py` reads the package's own data files. Never finds or opens a
settings file: that is `adapters/settings_files.py`.
"""
