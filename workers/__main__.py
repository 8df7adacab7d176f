"""Entry point of `python -m workers`: one worker, configured from the environment."""

import gc
import sys
from contextlib import nullcontext

from app.operations.lasting_imports import lasting_imports

with lasting_imports():
    from sqlalchemy.exc import OperationalError

    from app.logs import configure_logging
    from app.operations.startup_checks import StartRefused, require_own_state, unreachable
    from app.settings import load_settings
    from workers.background_compilation import background_compilation
    from workers.celery_app import build_worker, run_worker


def main() -> None:
    settings = load_settings()
    configure_logging(settings.log_format)
    try:
        require_own_state(settings)
    except StartRefused as error:
        sys.exit(f"bristlecone: {error}")
    except OperationalError as error:
        sys.exit(f"bristlecone: {unreachable(error)}")
    worker = build_worker(settings)
    # What was imported lives to the end. Children share its memory as long as their collector does not write to it.
    gc.freeze()
    with background_compilation() if settings.jobs.compile_ahead else nullcontext():
        run_worker(worker)


if __name__ == "__main__":
    main()
