from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "annotation.overview"
