"""Work in a process that kills itself in the middle, as the kernel does when memory is short."""

import os
import signal
from multiprocessing import get_context

from django.db import connections


def die(*_arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def killed(work, *arguments):
    """Run ``work`` in a process of its own, which kills itself."""
    # Neither process may use the other's connections.
    connections.close_all()
    process = get_context("fork").Process(target=work, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
