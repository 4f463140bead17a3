#!/usr/bin/env python3
"""Attune's command line: `./attune help` lists the commands."""

import gc
import importlib.util
import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".venv"
# These need no database: `up` starts one of its own, in the folder that ATTUNE_DATA names.
WITHOUT_DATA = {"up", "help", "--help", "--version"}


def use_virtual_environment() -> None:
    """Go on with the Python of `.venv`, whichever Python started this file."""
    python = VENV / "bin" / "python"
    if python.exists() and not VENV.samefile(sys.prefix):
        os.execv(python, [python, *sys.argv])  # noqa: S606 (our own Python, no shell)
    if importlib.util.find_spec("django") is None:
        sys.exit("Attune is not installed yet: run `make up` first.")


def use_running_installation(arguments: list[str]) -> None:
    """Name the data folder of the installation that runs, where the environment names none."""
    from annotation.local import process

    named = {"ATTUNE_DATA", "DATABASE_URL", "DATABASE_URL_FILE"} & set(os.environ)
    if named or not arguments or WITHOUT_DATA & {arguments[0], arguments[-1]}:
        return
    if folder := process.data_folder():
        os.environ["ATTUNE_DATA"] = str(folder)


def main() -> None:
    """Run one command; what an operator can mend is a sentence, not a traceback."""
    use_virtual_environment()
    # Of the modules that a command loads nothing is garbage: looking for it takes a tenth of that.
    gc.set_threshold(20_000, 20, 20)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from annotation.local.folders import LocalServiceError

    try:
        use_running_installation(sys.argv[1:])
        execute_from_command_line(sys.argv)
    except (LocalServiceError, ImproperlyConfigured) as error:
        sys.exit(str(error))
    except OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        sys.exit(
            "The database does not answer: start Attune with `make up`, or set DATABASE_URL. "
            f"({reason})"
        )


if __name__ == "__main__":
    main()
