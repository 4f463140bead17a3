from django.urls import path

from annotation.personas import conversation_views, split_views, views

urlpatterns = [
    path("studies/<slug:slug>/conversations/", conversation_views.pool, name="conversations"),
    path(
        "studies/<slug:slug>/conversations/histories/",
        conversation_views.add_histories,
        name="conversations-histories",
    ),
    path("studies/<slug:slug>/personas/", views.personas, name="personas"),
    path("studies/<slug:slug>/personas/add/", views.add, name="persona-add"),
    path("studies/<slug:slug>/personas/attributes/", views.add_attributes, name="attributes"),
    path("studies/<slug:slug>/personas/split/", split_views.split, name="persona-split"),
    path("studies/<slug:slug>/personas/<int:pk>/", views.persona, name="persona"),
    path("studies/<slug:slug>/personas/<int:pk>/drop/", views.drop, name="persona-drop"),
    path("studies/<slug:slug>/personas/<int:pk>/restore/", views.restore, name="persona-restore"),
    path(
        "studies/<slug:slug>/personas/<int:pk>/memories/", views.remember, name="persona-remember"
    ),
    path(
        "studies/<slug:slug>/personas/<int:pk>/memories/<int:memory>/remove/",
        views.forget,
        name="persona-forget",
    ),
]
