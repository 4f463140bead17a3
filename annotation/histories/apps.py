from django.apps import AppConfig


class HistoriesConfig(AppConfig):
    name = "annotation.histories"
