from django.urls import path

from annotation.live import views

urlpatterns = [
    path("studies/<slug:slug>/talk/", views.talk, name="talk"),
    path("studies/<slug:slug>/talk/setup/", views.setup, name="talk-setup"),
]
