"""Kernels of kernel ridge regression: similarities of rows, and systems of linear equations.

Sums are added in a fixed order, so that the bytes of a model do not depend on the number of threads or on the linear
algebra library of the machine.
"""
