"""Compilation of kernels ahead of their first use: which ones a fit needs, and which fits people ask for first."""
