import os

from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.urls import get_resolver

from annotation.core import telemetry

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
telemetry.start("web")
application = get_wsgi_application()
# Models can be imported only once the applications are loaded.
from annotation.core.models import Installation  # noqa: E402

Installation.compare()
connection.close()  # children that are forked later must not share it
# Load every view before the server forks: a new worker's first request must not wait for it.
get_resolver().url_patterns  # noqa: B018 - a property that loads them
