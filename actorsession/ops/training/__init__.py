"""The fused updates of optimisers."""
