from django.urls import path

from annotation.datasets import views

urlpatterns = [
    path("releases/<uuid:pk>/feed/", views.feed, name="release-feed"),
    path("releases/import/", views.import_release, name="release-import"),
    path("studies/<slug:slug>/releases/", views.releases, name="releases"),
    path(
        "studies/<slug:slug>/releases/<int:version>/delete/",
        views.delete,
        name="release-delete",
    ),
    path(
        "studies/<slug:slug>/releases/<int:version>/download/",
        views.download,
        name="release_download",
    ),
]
