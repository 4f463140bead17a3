from django.urls import path

from annotation.overview import views

urlpatterns = [path("studies/<slug:slug>/overview/", views.overview, name="overview")]
