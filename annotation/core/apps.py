from celery.signals import worker_init
from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "annotation.core"

    def ready(self) -> None:
        from annotation.core import checks  # noqa: F401 - registers them

        worker_init.connect(_compare_files, weak=False)


def _compare_files(**kwargs: object) -> None:
    """A worker that sees other files than the web servers ends at once."""
    from django.db import connection

    from annotation.core import start

    start.check()
    connection.close()  # children that are forked later must not share it
