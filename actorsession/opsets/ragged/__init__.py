"""Ragged tensors as graphs hold them: values and the ends of their rows."""
