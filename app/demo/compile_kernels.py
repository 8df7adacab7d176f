"""Compilation of kernels that the demo's jobs need, in a process of its own beside the starting service.

The API compiles what predictions need, and the worker compiles what the automatic model needs when it starts and the
negative exponential criterion for its first models. This process compiles entropy at the same time.
"""

import logging

from core import service_api


def main() -> None:
    """Compile the kernels that `core.warmup.usual_fits` lists for the demo."""
    logging.getLogger("core.compilation").setLevel(logging.ERROR)  # the demo says what it waits for
    service_api.warm_up_demo()


if __name__ == "__main__":
    main()
