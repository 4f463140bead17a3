from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """What an operator sees and does: checks, jobs, metrics, accounts, the audit trail, backups."""

    name = "annotation.operations"

    def ready(self) -> None:
        from annotation.operations import backup  # noqa: F401 - notes them
