# One image for all services; the command selects one (`bristlecone api`, `worker` or `migrate`).

FROM python:3.12-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/bristlecone
ENV PATH=/opt/bristlecone/bin:$PATH
WORKDIR /src
# The locked packages are installed first, so that a change of our own code does not reinstall them. They are those of
# requirements.lock and of the extra `otel`, which sends traces where the environment names a collector.
COPY requirements-image.lock ./
RUN pip install --require-hashes --requirement requirements-image.lock
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY core core
COPY workers workers
COPY migrations migrations
COPY client client
RUN pip install --no-deps --no-build-isolation . ./client

FROM python:3.12-slim
RUN useradd --system --uid 10001 --user-group --no-create-home bristlecone \
    && install --directory --mode 0700 --owner bristlecone --group bristlecone \
        /var/lib/bristlecone /var/cache/bristlecone
COPY --from=build /opt/bristlecone /opt/bristlecone
ENV PATH=/opt/bristlecone/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    BRISTLECONE_HOME=/var/lib/bristlecone \
    NUMBA_CACHE_DIR=/var/cache/bristlecone
USER bristlecone
WORKDIR /var/lib/bristlecone
# Kernels are compiled now rather than in the first job. A machine with another processor compiles them again,
# so their folder belongs to the user that runs the service.
RUN python -c "from core import service_api; service_api.warm_up()"
VOLUME /var/lib/bristlecone
EXPOSE 8000
# Worker containers use a different health check; see docker-compose.yml.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ.get('BRISTLECONE_PORT', '8000') + '/healthz', timeout=4)"]
CMD ["bristlecone", "api"]
