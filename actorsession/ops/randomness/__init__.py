"""Random numbers: drawn anew in each step, or as a function of a seed."""
