"""Labels of several annotators: their consensus, and the quality of each annotator."""
