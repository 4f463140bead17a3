from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "annotation.accounts"

    def ready(self) -> None:
        from annotation.accounts import adapter  # noqa: F401 - connects them
