from django.apps import AppConfig


class CandidatesConfig(AppConfig):
    name = "annotation.candidates"

    def ready(self):
        from annotation.candidates import checks  # noqa: F401 - registers itself
