"""Accuracy of models, audits and corrected scores on noisy labels."""
