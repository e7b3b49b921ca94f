"""Texts of modes that few sessions have: each module is loaded only where its mode is on (R042, R083)."""
