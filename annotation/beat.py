"""The clock of the periodic tasks, without Django: `python -m annotation.beat SCHEDULE_FILE`.

Beat sends names of tasks when they are due. It needs the settings and neither models nor tasks,
which would take most of its memory and of the time to its start.
"""

import os
import sys

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")

app = Celery("annotation", fixups=[])
app.config_from_object("django.conf:settings", namespace="CELERY")

if __name__ == "__main__":
    # Celery's command line would take ten megabytes more.
    app.Beat(schedule=sys.argv[1]).run()
