# fabricc in a container: docker build -t fabricc . && docker run --rm -v "$PWD:/work" -u "$(id -u):$(id -g)" fabricc build cluster.yaml
FROM python:3.12-slim-bookworm AS wheel
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir --constraint constraints.txt build==1.6.1 hatchling==1.33.0
RUN python -m build --no-isolation --wheel --outdir /wheels && \
    pip wheel --no-cache-dir --constraint constraints.txt --wheel-dir /wheels /wheels/fabricc-*.whl

FROM python:3.12-slim-bookworm
# Git reads revisions for `diff` and `check --committed`; ssh-keygen proves and makes signatures.
# hadolint ignore=DL3008
RUN apt-get update && \
    apt-get install -y --no-install-recommends git openssh-client && \
    rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index /wheels/*.whl && \
    useradd --create-home --uid 10001 fabricc && \
    git config --system --add safe.directory /work
USER 10001
WORKDIR /work
ENTRYPOINT ["fabricc"]
CMD ["--help"]
