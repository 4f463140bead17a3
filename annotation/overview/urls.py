from django.urls import path

from annotation.overview import views

urlpatterns = [
    path("studies/<slug:slug>/overview/", views.overview, name="overview"),
    path("studies/<slug:slug>/items/", views.items_table, name="items"),
]
