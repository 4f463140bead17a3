from django.urls import path

from annotation.evaluation import views

urlpatterns = [path("studies/<slug:slug>/gap/", views.gap, name="gap")]
