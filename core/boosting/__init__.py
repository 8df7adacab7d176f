"""Classifiers that add up rules, one after the other: minimax boosting and the boosters it is compared with."""
