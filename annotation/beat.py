"""The clock of the periodic tasks, without Django: `celery -A annotation.beat beat`.

Beat sends names of tasks when they are due. It needs the settings and neither models nor tasks,
which would take most of its memory and of the time to its start.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")

app = Celery("annotation", fixups=[])
app.config_from_object("django.conf:settings", namespace="CELERY")
