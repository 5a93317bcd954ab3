"""Strings: characters, substrings, patterns, numbers and fingerprints."""
