"""What a web server or worker checks before it serves: it ends with a sentence, no traceback."""

from annotation.core.errors import DomainError


def check() -> None:
    """Raise SystemExit where the files are those of another installation."""
    # Models can be imported only once the applications are loaded.
    from annotation.core import installation

    try:
        installation.check()
    except DomainError as refusal:
        raise SystemExit(refusal.sentence) from refusal
