"""Linear algebra: products, factors and functions of matrices and of batches of them."""
