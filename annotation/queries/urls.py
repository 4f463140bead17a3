from django.urls import path

from annotation.queries import views

urlpatterns = [
    path("studies/<slug:slug>/queries/", views.queries, name="queries"),
    path("studies/<slug:slug>/queries/add/", views.add, name="query-add"),
    path("studies/<slug:slug>/queries/<int:pk>/", views.query, name="query"),
]
