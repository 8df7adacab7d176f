"""The automatic classifier: a search among forests by out-of-bag accuracy, and growth that suits the noise."""
