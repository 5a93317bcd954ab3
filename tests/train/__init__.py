"""Optimisers: each against its formula, and what they share."""
