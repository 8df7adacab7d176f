"""Boosted classifiers: minimax boosting (RMBoost) and the boosters that it is compared with."""
