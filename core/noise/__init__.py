"""Label noise as data: matrices and injections that say what they did."""
