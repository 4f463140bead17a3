from typing import Any

from django.apps import AppConfig


def erase(study: Any, annotator: Any, **_signal: Any) -> None:
    """Forget the conversations of somebody who withdraws; their words are own queries' words."""
    from annotation.live.models import Talk

    Talk.objects.filter(study=study, person=annotator).delete()


def conversations(study: Any, person: Any) -> Any:
    """The person's conversations, for the download of what they gave."""
    # Here, for it loads what draws systems: too much for every start.
    from annotation.live import talks

    return talks.given(study, person)


def keep(study: Any, values: dict) -> None:
    """Store the settings of a live comparison that a study's definition names."""
    from annotation.live import settings

    settings.keep(study, values)


class LiveConfig(AppConfig):
    name = "annotation.live"

    def ready(self) -> None:
        from annotation.judging.annotator import data_export, leaving
        from annotation.judging.imports import bundles

        leaving.withdrawn.connect(erase, dispatch_uid="live")
        data_export.FURTHER["conversations"] = conversations
        bundles.FURTHER["live"] = keep
