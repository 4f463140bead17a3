"""Starts programs by fork from one process, which has imported what they share (Linux only).

The server (`python -m annotation.local.forkserver MODULE`) imports MODULE, which must leave no
thread and no connection behind, and then forks once for each request on its standard input, a
socket. A forked process becomes a child of the supervisor, not of the server: it outlives the
server, and the supervisor sees how it ends.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import mmap
import os
import re
import runpy
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .process import Adopted, Program, die_with, open_log, spawn

PR_SET_CHILD_SUBREAPER = 36
ANSWER_SECONDS = 30
# The addresses of a mapped file, how it is mapped, and how much of it was written.
_MAPPING = re.compile(
    r"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ +/.*\n(?:[A-Z].*\n)*?Anonymous: +(\d+) kB", re.M
)
SUPPORTED = sys.platform == "linux"


class ForkServer:
    """The supervisor's end of the socket."""

    def __init__(self) -> None:
        self.connection: socket.socket | None = None
        self.loaded = False

    def start(self, program: Program, log: Path) -> subprocess.Popen[bytes]:
        """Start the server; it takes seconds until `is_ready`."""
        self._close()
        self.connection, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connection.settimeout(ANSWER_SECONDS)
        with end:
            return spawn(program, log, stdin=end.fileno())

    def is_ready(self) -> bool:
        """Whether the server has imported everything and takes requests."""
        if self.connection and not self.loaded and select.select([self.connection], [], [], 0)[0]:
            with contextlib.suppress(ConnectionError):
                self.loaded = self.connection.recv(16) == b"ready"
        return self.loaded

    def fork(self, program: Program, log: Path) -> Adopted | None:
        """Start ``program`` (its interpreter and environment are the server's).

        None where the server ended meanwhile.
        """
        if not self.is_ready() or self.connection is None:
            return None
        request = json.dumps([program.argv, program.orphan_signal]).encode()
        try:
            with open_log(log) as output, _adopting():
                socket.send_fds(self.connection, [request], [output.fileno()])
                return Adopted(int(self.connection.recv(16)))
        except (OSError, ValueError):
            self._close()  # a process that is forked later sees it and ends
            return None

    def _close(self) -> None:
        if self.connection:
            self.connection.close()
        self.connection, self.loaded = None, False


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Become the parent of descendants whose parent ends; others must stay with init."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _main() -> None:
    supervisor = os.getppid()
    connection = socket.socket(fileno=0)
    importlib.import_module(sys.argv[1])
    gc.collect()
    gc.freeze()  # the collector's marks would unshare the pages
    _release_code()
    connection.send(b"ready")
    while True:
        request, logs, _, _ = socket.recv_fds(connection, 2**16, 1)
        if not request:
            return
        argv, orphan_signal = json.loads(request)
        if _is_fork(supervisor, orphan_signal):
            break
        os.close(logs[0])
    connection.send(str(os.getpid()).encode())
    connection.detach()
    _redirect(logs[0])
    _run(argv)


def _release_code() -> None:
    """Give back the pages of files that imports have read: forks read theirs anew in any case.

    Only where nothing was written to a mapping, such as a library's relocated addresses.
    """
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for first, last, mode, written in _MAPPING.findall(Path("/proc/self/smaps").read_text()):
        if "w" not in mode and written == "0":
            start = int(first, 16)
            madvise(start, int(last, 16) - start, mmap.MADV_DONTNEED)


def _is_fork(supervisor: int, orphan_signal: int) -> bool:
    """Fork twice; False in the server, and True in the new process once it is the supervisor's."""
    if child := os.fork():
        os.waitpid(child, 0)
        return False
    between = os.getpid()
    set_signal = die_with(supervisor, orphan_signal)
    if os.fork():
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.001)
    os.setsid()
    if set_signal:
        set_signal()
    return True


def _redirect(log: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)


def _run(argv: list[str]) -> None:
    """Go on as `PYTHON -m MODULE ...`."""
    with contextlib.suppress(ImportError):  # without it `ps` shows the server's words
        from setproctitle import setproctitle

        setproctitle(" ".join(argv))
    sys.argv = argv[2:]
    runpy.run_module(argv[2], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
