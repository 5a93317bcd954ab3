"""Parsing of external bytes: examples, records, CSV, files and serialized tensors."""
