"""Modules that programs import from ``tensorflow.core``."""
