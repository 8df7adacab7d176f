"""Annotators: several people label the same items; what they say together, and how often each of them is right."""
