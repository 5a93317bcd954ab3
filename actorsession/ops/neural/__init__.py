"""What neural networks are made of beyond convolutions: activations, normalisation, embeddings, losses."""
