"""Signals: spectra, framing, and window functions."""
