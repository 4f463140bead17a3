from django.urls import path

from annotation.agreement import views

urlpatterns = [path("studies/<slug:slug>/", views.study, name="study")]
