"""Compiled loops. They take arrays and scalars and fill buffers, and never raise: callers check the arguments.

Imports between the subfolders go in one direction: `criteria`, then `search`, `growth` and `prediction`, each of which
may import those before it. `simplex` is independent of them. `jit`, `random_state`, `row_scans` and `features` may be
imported by all.
"""
