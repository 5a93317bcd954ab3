"""Modules that programs import from ``tensorflow.python.ops``."""
