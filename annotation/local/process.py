"""Child processes that log to private files and do not outlive the process that started them."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from .errors import LocalServiceError

PR_SET_PDEATHSIG = 1
LOG_BYTES = 10 * 2**20


class Process(Protocol):
    """A child: what is used here of subprocess.Popen."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Adopted:
    """A child that subprocess did not start: a Process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how the process ended, as Popen does; None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return how the process ended; raises subprocess.TimeoutExpired after ``timeout`` s."""
        deadline = time.monotonic() + (timeout or float("inf"))
        while (ended := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(0.01)
        return ended

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class Apart(Adopted):
    """A fork of this process that calls one function: what that imports goes with it.

    As a context manager it leaves no process behind, and raises LocalServiceError with the sentence
    of the function's own where the function failed.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        words, report = os.pipe()
        set_signal = die_with(os.getpid(), signal.SIGKILL)
        if pid := os.fork():
            super().__init__(pid)
            os.close(report)
            self.words = words
            return
        status = 1
        try:
            if set_signal:
                set_signal()
            function()
            status = 0
        except LocalServiceError as error:
            os.write(report, str(error).encode())
        finally:
            if sys.exc_info()[0]:
                traceback.print_exc()
            os._exit(status)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.kill()
        ended = self.wait()
        with os.fdopen(self.words) as file:
            sentence = file.read()
        if error is None and (ended or sentence):
            raise LocalServiceError(sentence or f"A step of the start failed ({cause(ended)}).")


@dataclass(frozen=True)
class Program:
    """How to run one child, and how to end it.

    `orphan_signal` is what the kernel sends the child when its parent dies without a word.
    """

    name: str
    argv: list[str]
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    account: str | None = None
    stop_signal: int = signal.SIGTERM
    stop_seconds: float = 10
    orphan_signal: int = signal.SIGKILL
    forked: bool = False  # from the fork server, where the system has one


def spawn(
    program: Program, log: Path, stdout: int | None = None, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start `program` in a session of its own, output appended to `log`, umask 077.

    `stdout=subprocess.PIPE` gives what it prints to the caller and only its words to the log.
    Call it from the main thread: Linux sends the orphan signal when the starting *thread* ends.
    """
    with open_log(log) as output:
        return subprocess.Popen(  # noqa: S603 (the callers' own words)
            program.argv,
            stdin=stdin,
            stdout=output if stdout is None else stdout,
            stderr=output,
            env=program.environment,
            cwd=program.cwd,
            umask=0o077,
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which orders the end.
            preexec_fn=die_with(os.getpid(), program.orphan_signal),
            **identity(program.account),
        )


def identity(account: str | None) -> dict:
    """Return the arguments that make subprocess run as `account`; none for our own."""
    if account is None:
        return {}
    entry = pwd.getpwnam(account)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def stop(process: Process, program: Program) -> None:
    """Ask the child to end, give it `stop_seconds`, then kill what is left of its session."""
    if process.poll() is None:
        process.send_signal(program.stop_signal)
    try:
        process.wait(program.stop_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    kill_group(process.pid)


def kill_group(group: int) -> None:
    """Kill what still runs of a child's process group; nothing left is fine."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def pause() -> None:
    """Wait a little between two looks at a process that is starting."""
    time.sleep(0.05)


def answers(port: int, path: str) -> bool:
    """Whether a server on 127.0.0.1:`port` answers GET `path` with 200.

    Over a plain socket: http.client and ssl would take six megabytes of the supervisor for good.
    """
    request = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(request.encode())
            return connection.makefile("rb").readline().split()[1:2] == [b"200"]
    except OSError:
        return False  # not listening yet


def open_log(log: Path) -> BinaryIO:
    """Open `log` for appending, mode 0600; a long one is kept as `.1` and begun anew."""
    rotate(log)
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def rotate(log: Path) -> None:
    """Keep a log of more than 10 MB as `.1`; the one kept before goes."""
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_name(log.name + ".1"))


def shorten(log: Path) -> None:
    """Keep a copy of a log of more than 10 MB as `.1` and empty it, while it is being written.

    Writers append, so they go on at the new end; lines written between the two steps are lost.
    """
    if log.stat().st_size <= LOG_BYTES:
        return
    older = log.with_name(log.name + ".1")
    older.touch(mode=0o600)
    shutil.copyfile(log, older)
    os.truncate(log, 0)


def tail(log: Path, lines: int = 10) -> str:
    """Return the last lines of a log, indented, to be shown beneath a sentence."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


def cause(returncode: int) -> str:
    """Name in words how a process ended."""
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"exit status {returncode}"


def die_with(parent: int, number: int) -> Callable[[], None] | None:
    """Return what a child calls first, so that it gets signal `number` when `parent` dies."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl  # loaded before the fork, called after it

    def set_signal() -> None:
        # Runs after the change of account, which would have cleared the setting.
        prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # The parent died before the setting could take effect.
            os._exit(1)

    return set_signal
