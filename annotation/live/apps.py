from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "annotation.live"

    def ready(self) -> None:
        from annotation.judging.annotator import data_export, leaving
        from annotation.live import talks

        leaving.withdrawn.connect(talks.erase, dispatch_uid="live")
        data_export.FURTHER["conversations"] = talks.given
