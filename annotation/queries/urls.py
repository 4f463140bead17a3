from django.urls import path

from annotation.queries import own_views, views

urlpatterns = [
    path("studies/<slug:slug>/queries/", views.queries, name="queries"),
    path("studies/<slug:slug>/queries/add/", views.add, name="query-add"),
    path("studies/<slug:slug>/queries/<int:pk>/", views.query, name="query"),
    path("studies/<slug:slug>/my-queries/", own_views.queries, name="own-queries"),
    path("studies/<slug:slug>/my-queries/<slug:key>/", own_views.query, name="own-query"),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/change/",
        own_views.change,
        name="own-query-change",
    ),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/sessions/",
        own_views.sessions,
        name="own-query-sessions",
    ),
]
