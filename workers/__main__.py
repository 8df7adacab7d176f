"""Entry point of `python -m workers`: one worker, configured from the environment."""

from app.logs import configure_logging
from app.settings import load_settings
from workers.celery_app import build_worker


def main() -> None:
    configure_logging()
    celery = build_worker(load_settings())
    celery.worker_main(["worker", "--pool=prefork", "--without-gossip", "--without-mingle", "--loglevel=INFO"])


if __name__ == "__main__":
    main()
