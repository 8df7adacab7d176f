"""Kernel ridge regression of class indicators: a smooth classifier, whose errors differ from those of trees."""
