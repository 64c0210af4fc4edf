"""The program that serves a GGUF model on the loopback: llama.cpp's own server, as `xllamacpp` wraps it.

Odd: it ends when its standard input ends or its parent is another, so that it outlives its launcher in no way in which
that may die: a child that the launcher forked may hold the other end of that input.

    python -m trivium.data.rephrase.backends.llama_server '{"model": "m.gguf", …}'     prints its address
"""

import importlib
import os
import select
import sys
from typing import Any

import msgspec

_LOOK = 1.0  # seconds between looks at the parent


class Settings(msgspec.Struct, kw_only=True, frozen=True):
    """`context` in tokens of each of `slots` texts that are written side by side."""

    model: str
    context: int
    slots: int
    threads: int


def serve(settings: Settings) -> Any:
    """The running server; `listening_address` is where. Raises what llama.cpp raises."""
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = settings.model
    params.n_ctx = settings.context * settings.slots
    params.n_parallel = settings.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.port = 0
    # Stated, so that another version of llama.cpp doesn't write otherwise for the same request.
    params.sampling.top_k, params.sampling.min_p, params.sampling.penalty_repeat = 40, 0.05, 1.0
    params.cache_ram_mib = 0  # of prompts that no slot holds any more; chunks of one excerpt follow in one slot
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.cors_origins = "http://127.0.0.1"
    params.verbosity = 1
    return llama.Server(params)


def main() -> None:
    """Serves until standard input ends, or the launcher does."""
    launcher = os.getppid()
    server = serve(msgspec.json.decode(sys.argv[1], type=Settings))
    print(server.listening_address, flush=True)
    while os.getppid() == launcher and not select.select([sys.stdin], [], [], _LOOK)[0]:
        pass
    os._exit(0)  # texts that are being written are nobody's any more


if __name__ == "__main__":
    main()
