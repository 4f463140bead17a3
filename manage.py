#!/usr/bin/env python3
"""Attune's command line: `python manage.py help` lists the commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from annotation.local.errors import LocalServiceError

    try:
        execute_from_command_line(sys.argv)
    except (LocalServiceError, ImproperlyConfigured) as error:
        sys.exit(str(error))
    except OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        sys.exit(
            "The database does not answer: start Attune with `make up`, or set DATABASE_URL. "
            f"({reason})"
        )
