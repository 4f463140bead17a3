from django.urls import path

from annotation.imports import views

urlpatterns = [
    path("studies/<slug:slug>/data/", views.imports, name="imports"),
    path("studies/<slug:slug>/data/<uuid:pk>/", views.data_import, name="import"),
    path("studies/<slug:slug>/data/<uuid:pk>/preview/", views.preview, name="import-preview"),
    path("studies/<slug:slug>/data/<uuid:pk>/faults.csv", views.faults, name="import-faults"),
]
