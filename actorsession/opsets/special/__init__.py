"""Special functions: gamma, beta, Bessel and their kin."""
