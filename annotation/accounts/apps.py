from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "annotation.accounts"

    def ready(self) -> None:
        from annotation.accounts import signals  # noqa: F401 - connects them
