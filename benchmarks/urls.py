"""Attune's addresses and one more: the floor that the judging page is measured against."""

from django.http import HttpResponse
from django.urls import path

from annotation.urls import *  # noqa: F403
from annotation.urls import urlpatterns as pages


def floor(request):
    """About 200 bytes for whoever is logged in; loads the session and the user, nothing else."""
    words = f"{request.user.pk} is logged in."
    return HttpResponse(f"<!doctype html><title>floor</title><p>{words:<160}</p>")


urlpatterns = [*pages, path("floor/", floor)]
