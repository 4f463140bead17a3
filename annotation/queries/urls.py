from django.urls import path

from annotation.queries import owner_views, views

urlpatterns = [
    path("studies/<slug:slug>/queries/", views.queries, name="queries"),
    path("studies/<slug:slug>/queries/add/", views.add, name="query-add"),
    path("studies/<slug:slug>/queries/<int:pk>/", views.query, name="query"),
    path("studies/<slug:slug>/my-queries/", owner_views.queries, name="own-queries"),
    path("studies/<slug:slug>/my-queries/<slug:key>/", owner_views.query, name="own-query"),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/change/",
        owner_views.change,
        name="own-query-change",
    ),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/sessions/",
        owner_views.sessions,
        name="own-query-sessions",
    ),
]
