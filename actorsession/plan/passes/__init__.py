"""Graph passes: their registry, the checks on what they made, and the optimiser that always runs."""
