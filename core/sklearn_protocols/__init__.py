"""Protocols of scikit-learn, implemented without its base classes."""
