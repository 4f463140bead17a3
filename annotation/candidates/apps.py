from django.apps import AppConfig


class CandidatesConfig(AppConfig):
    name = "annotation.candidates"
