"""Neural network operations beyond convolutions: activations, normalisation, embeddings and losses."""
