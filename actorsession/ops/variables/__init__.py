"""Variables: state that outlives a step, with scopes, initialisers, updates and checkpoints."""
