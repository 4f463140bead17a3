from django.urls import include, path

from annotation.queries import views

of_study = [
    path("queries/", views.queries, name="queries"),
    path("queries/examples/", views.examples, name="examples"),
    path("queries/add/", views.add, name="query-add"),
    path("queries/<int:pk>/", views.query, name="query"),
    path("my-queries/", views.own_queries, name="own-queries"),
    path("my-queries/<slug:key>/", views.own_query, name="own-query"),
    path("my-queries/<slug:key>/change/", views.change, name="own-query-change"),
    path("my-queries/<slug:key>/sessions/", views.sessions, name="own-query-sessions"),
]
urlpatterns = [path("studies/<slug:slug>/", include(of_study))]
