"""Signals: their spectra, the frames they are cut into, and the windows that these are seen through."""
