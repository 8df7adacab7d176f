"""Process that reads what clients send, each file in a child with hard limits: `python -m app.reader_process`.

A file can make its reader take any amount of memory or time, or crash it, on purpose or because it is damaged. Here
that only ends a child. It reads uploads (`app.datasets.remote_reader`) and rows to predict
(`app.predictions.remote_rows`), whose modules are imported once, before the first child is forked.
"""

from functools import partial

from app.operations.lasting_imports import lasting_imports

with lasting_imports():
    import pyarrow as pa

    from app.datasets.upload_tasks import UPLOAD_TASKS, handled, warm_up
    from app.logs import configure_logging
    from app.operations.forked_tasks import serve
    from app.predictions.row_tasks import ROW_TASKS
    from app.settings import load_settings

if __name__ == "__main__":
    configure_logging(load_settings().log_format)
    pa.set_cpu_count(1)
    warm_up()
    serve(partial(handled, {**UPLOAD_TASKS, **ROW_TASKS}))
