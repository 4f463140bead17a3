#!/usr/bin/env python3
"""The command line of a clone, by the Python of its `.venv`; `./attune help` lists the commands."""

import importlib.util
import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".venv"


def use_virtual_environment() -> None:
    """Go on with the Python of `.venv`, whichever Python started this file."""
    python = VENV / "bin" / "python"
    if python.exists() and not VENV.samefile(sys.prefix):
        os.execv(python, [python, *sys.argv])  # noqa: S606 (our own Python, no shell)
    if importlib.util.find_spec("django") is None:
        sys.exit("Attune is not installed yet: run `make up` first.")


if __name__ == "__main__":
    use_virtual_environment()
    from annotation.__main__ import main

    main()
