"""Accuracy of classifiers on clean test rows after training on noisy labels, on many tables."""
