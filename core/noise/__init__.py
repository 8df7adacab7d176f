"""Label noise: transition matrices, injection, estimation and loss correction."""
