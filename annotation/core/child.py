"""The process in which one foreign file is read: it has no database, no secrets, and limits.

Started by `foreign`. It writes the messages of a reader as lines of JSON, and at last END or a
refusal.
"""

import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.utils import translation

from annotation.core import memory
from annotation.core.errors import DomainError
from annotation.core.foreign import END, OUT_OF_MEMORY, Limits
from annotation.product import FILES


def main(reader: str, path: str, scratch: str, limits: Limits, language: str) -> None:
    """Write what ``reader`` says of the file ``path`` to standard output."""
    settings.configure(USE_I18N=True, LOCALE_PATHS=[FILES / "locale"])
    django.setup()
    translation.activate(language)
    module, _, name = reader.partition(":")
    read = getattr(import_module(module), name)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    # Whoever waited for the messages may have gone.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with memory.bounded(limits.memory):
            for message in _messages(read, Path(path), Path(scratch), limits):
                sys.stdout.buffer.write(message + b"\n")
            sys.stdout.buffer.flush()
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)


def _messages(
    read: Callable[[Path, Path, Limits], Iterator], path: Path, scratch: Path, limits: Limits
) -> Iterator[bytes]:
    try:
        for message in read(path, scratch, limits):
            yield message if isinstance(message, bytes) else line(message)
        yield line(END)
    except DomainError as error:
        yield line({"refusal": error.sentence, "code": error.code})


def line(message: Any) -> bytes:
    """A message as it is written. Bytes that were no text are lone surrogates."""
    return json.dumps(message, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


if __name__ == "__main__":
    READER, PATH, SCRATCH, LIMITS, LANGUAGE = sys.argv[1:]
    main(READER, PATH, SCRATCH, Limits(**json.loads(LIMITS)), LANGUAGE)
