from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "annotation.live"

    def ready(self) -> None:
        from annotation.judging.annotator import leaving
        from annotation.live import talks

        leaving.withdrawn.connect(talks.erase, dispatch_uid="live")
