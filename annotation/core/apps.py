from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "annotation.core"

    def ready(self) -> None:
        from annotation.core import checks  # noqa: F401 - registers them
