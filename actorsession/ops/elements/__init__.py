"""Elementwise functions with broadcasting: arithmetic, comparison, conversion, special functions."""
