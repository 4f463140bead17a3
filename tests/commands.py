"""Management commands as a test runs them."""

import io

from django.core.management import call_command


def run(*arguments):
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()
