"""The one error of the laptop's services: a sentence that names what is wrong."""


class LocalServiceError(Exception):
    """A service cannot start or keep running; the message is one sentence for the operator."""
