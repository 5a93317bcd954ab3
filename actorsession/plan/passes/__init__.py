"""Graph passes: their registry, the checks on what they made, and the built-in optimiser."""
