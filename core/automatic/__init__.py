"""The automatic classifier: a search among forests by out-of-bag accuracy, and an answer to the noise of labels."""
