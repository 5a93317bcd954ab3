"""Partial runs: the state of one, which is pure, and what carries out its instructions in this process."""
