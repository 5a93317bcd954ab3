"""Lists of tensors as values of a graph, and TensorArrays, which are made of them."""
