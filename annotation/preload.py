"""Imports what the web server and the worker run: `make up` forks both from one process.

Their entry points are imported, too, so that nothing is read twice.
"""

import celery.apps.worker
import celery.bin.celery
import celery.concurrency.prefork
import celery.contrib.django.task
import celery.events.dispatcher
import celery.worker.consumer
import gunicorn.app.wsgiapp
import gunicorn.workers.gthread
import kombu.transport.redis

import annotation.worker
import annotation.wsgi
from annotation.celery import app

__all__ = ["annotation", "celery", "gunicorn", "kombu"]

app.loader.import_default_modules()
app.finalize()
