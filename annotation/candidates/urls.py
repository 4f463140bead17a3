from django.urls import path

from annotation.candidates import sources, views

urlpatterns = [
    path("studies/<slug:slug>/candidates/", views.candidates, name="candidates"),
    path("studies/<slug:slug>/candidates/retry/", views.retry, name="candidates-retry"),
    path("studies/<slug:slug>/sources/", sources.sources, name="sources"),
    path("studies/<slug:slug>/sources/add/", sources.upload, name="sources-upload"),
    path("studies/<slug:slug>/sources/clear/", sources.clear, name="sources-clear"),
]
