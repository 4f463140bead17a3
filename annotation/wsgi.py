import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
application = get_wsgi_application()
# Load every view before the server forks: a new worker's first request must not wait for it.
get_resolver().url_patterns  # noqa: B018 - a property that loads them
