"""Partial runs: the state of one, which is pure, and the code that runs its instructions in this process."""
