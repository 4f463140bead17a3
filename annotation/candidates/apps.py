from django.apps import AppConfig


class CandidatesConfig(AppConfig):
    name = "annotation.candidates"

    def ready(self) -> None:
        from annotation.candidates import endpoints  # noqa: F401 - registers itself
