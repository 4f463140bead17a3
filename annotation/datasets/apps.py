from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    name = "annotation.datasets"

    def ready(self) -> None:
        from annotation.datasets import withdrawals  # noqa: F401 - listens to withdrawals
