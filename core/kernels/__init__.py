"""Compiled loops. They take arrays and scalars, fill buffers, and never raise: the public layer checks, kernels
trust.
"""
