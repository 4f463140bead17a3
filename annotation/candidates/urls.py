from django.urls import path

from annotation.candidates import views

urlpatterns = [
    path("studies/<slug:slug>/candidates/", views.candidates, name="candidates"),
    path("studies/<slug:slug>/candidates/retry/", views.retry, name="candidates-retry"),
]
