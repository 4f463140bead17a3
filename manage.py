#!/usr/bin/env python3
"""Attune's command line: `python manage.py help` lists the commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
    from django.core.management import execute_from_command_line

    from annotation.local.errors import LocalServiceError

    try:
        execute_from_command_line(sys.argv)
    except LocalServiceError as error:
        sys.exit(str(error))
