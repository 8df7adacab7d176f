"""Turns of threads that work on large values.

Python runs one thread at a time. Each thread that computes delays the event loop, and with it all other requests, so
only one of them at a time converts a large value.
"""

from threading import Lock

#: Held while a large value is converted. A thread that has it waits for nothing else: no file, client or database.
large_work_turn = Lock()
