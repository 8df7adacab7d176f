"""Scores of predictions, and the rows that are held out to compute them."""
