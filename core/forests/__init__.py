"""Classifiers made of grown trees: the tree, the forest and extra trees."""
