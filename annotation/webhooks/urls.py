from django.urls import path

from annotation.webhooks import views

urlpatterns = [
    path("studies/<slug:slug>/webhooks/", views.webhooks, name="webhooks"),
    path("studies/<slug:slug>/webhooks/<int:pk>/", views.change, name="webhook"),
    path("studies/<slug:slug>/webhooks/messages/<uuid:pk>/", views.replay, name="webhook-message"),
]
