# A worker image: Beam's Python SDK image with the libraries of `trivium[build]` and the built wheel. Not built in CI.
#
#   python -m pip wheel --no-deps -w dist .
#   docker build -f deploy/worker.Dockerfile -t REGISTRY/trivium-worker:0.1.0 .
#
# The image's Python and Beam must be the driver's, to the minor version of Python and the exact version of Beam. It
# starts as an SDK harness (Dataflow, DOCKER environments) or, with the command at the end, as a pool beside a Flink or
# Spark worker.
ARG BEAM=2.77.0
ARG PYTHON=3.11
FROM apache/beam_python${PYTHON}_sdk:${BEAM}
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap libcairo2 && rm -rf /var/lib/apt/lists/*
COPY constraints.txt /tmp/constraints.txt
COPY dist/trivium-*.whl /tmp/wheel/
# torch belongs to training: data stages import none of it, so workers go without. The libraries are the extra `build`.
RUN python -m pip install --no-cache-dir --no-deps /tmp/wheel/*.whl \
    && python -c "from trivium.needs import requirements as r; print(*r()['build'], 'msgspec', 'numpy', 'pillow', 'pyyaml', 'rich', 'typer', sep='\n')" \
    > /tmp/wanted.txt \
    && python -m pip install --no-cache-dir -r /tmp/wanted.txt -c /tmp/constraints.txt
# As a pool instead of a harness (a sidecar of each task manager, EXTERNAL environment):
#   docker run --entrypoint python REGISTRY/trivium-worker:0.1.0 -m trivium.pipelines.worker_pool --port 50000
