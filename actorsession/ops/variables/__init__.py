"""Variables: state that outlives a step, its scopes, first values, updates and checkpoints."""
