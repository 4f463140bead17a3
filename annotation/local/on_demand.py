"""Runs a server only while somebody uses it.

Connections come to a socket of ours and are passed on, byte for byte, to the server: the first one
starts it, and minutes without a byte stop it.
"""

import contextlib
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable

BLOCK = 1 << 16
LOOK_SECONDS = 0.5
START_SECONDS = 60
POLL_SECONDS = 0.05


class OnDemand:
    """Serves `listener`; `start` starts the server, which is to listen on loopback at `port`.

    `answers` says whether the server is ready. It is stopped after `idle` seconds without a byte,
    but never while a caller waits for an answer.
    """

    def __init__(
        self,
        listener: socket.socket,
        port: int,
        start: Callable[[], subprocess.Popen],
        answers: Callable[[], bool],
        idle: float,
    ) -> None:
        self.listener, self.port, self.idle = listener, port, idle
        self.start, self.answers = start, answers
        self.process: subprocess.Popen | None = None
        self.used = 0.0
        self.waiting: set[socket.socket] = set()
        self.ended = False

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then stop the server; call it from the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        while not self.ended:
            if select.select([self.listener], [], [], LOOK_SECONDS)[0]:
                connection, _ = self.listener.accept()
                self.used = time.monotonic()
                # In this thread: Linux ends a child with the thread that started it.
                if self.process is None or self.process.poll() is not None:
                    self.process = self.start()
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()
            elif not self.waiting and time.monotonic() - self.used > self.idle:
                self._stop()
        self._stop()

    def _end(self, number: int, frame: object) -> None:
        self.ended = True

    def _stop(self) -> None:
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def _serve(self, connection: socket.socket) -> None:
        self.waiting.add(connection)
        # A side that hangs up ends the connection of the other one: no more is to be done.
        with connection, contextlib.suppress(OSError), self._connect() as server:
            self._relay(connection, server)
        self.waiting.discard(connection)

    def _relay(self, connection: socket.socket, server: socket.socket) -> None:
        others = {connection: server, server: connection}
        while others:
            for side in select.select(list(others), [], [])[0]:
                block = side.recv(BLOCK)
                self.used = time.monotonic()
                change = self.waiting.add if side is connection else self.waiting.discard
                change(connection)
                if block:
                    others[side].sendall(block)
                else:
                    others.pop(side).shutdown(socket.SHUT_WR)

    def _connect(self) -> socket.socket:
        """A connection to the server, which may be starting; OSError where it does not come."""
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if time.monotonic() > deadline or self.process is None or self.process.poll():
                raise ConnectionRefusedError
            time.sleep(POLL_SECONDS)
        return socket.create_connection(("127.0.0.1", self.port))
