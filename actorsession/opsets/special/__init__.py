"""Special functions: gamma, beta, Bessel and related ones."""
