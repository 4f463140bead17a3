from django.urls import path

from annotation.datasets import views

urlpatterns = [
    path("studies/<slug:slug>/releases/", views.releases, name="releases"),
    path(
        "studies/<slug:slug>/releases/<int:version>/download/",
        views.download,
        name="release_download",
    ),
]
