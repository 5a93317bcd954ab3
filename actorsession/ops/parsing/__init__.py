"""Bytes from outside taken apart: examples, records, CSV, files, and serialized tensors."""
