"""Strings: their characters, parts, patterns, numbers and fingerprints."""
