from uuid import UUID


class DomainError(Exception):
    """A refusal with one sentence for the person who asked.

    ``code`` is the machine's name for it; ``status`` the HTTP status a page or the API answers.
    """

    code = "refused"
    status = 400

    def __init__(self, sentence: str, *, code: str = "", status: int = 0):
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code or self.code
        self.status = status or self.status


class NotFound(DomainError):  # noqa: N818 - named after the HTTP answer
    """The thing does not exist, or the asker may not know that it does."""

    code = "not_found"
    status = 404


class Conflict(DomainError):  # noqa: N818
    """Somebody or something else was first."""

    code = "conflict"
    status = 409


def uuid_or_not_found(value: str | None, sentence: str) -> UUID:
    """``value`` as a UUID. Raises NotFound with ``sentence`` where it is none."""
    try:
        return UUID(value or "")
    except ValueError:
        raise NotFound(sentence) from None
