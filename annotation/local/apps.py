from django.apps import AppConfig


class LocalConfig(AppConfig):
    """The laptop's services: embedded PostgreSQL, Redis and model, and their supervisor."""

    name = "annotation.local"
    label = "local"
