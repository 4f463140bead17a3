from django.urls import include, path

from annotation.personas import views

of_study = [
    path("conversations/", views.pool, name="conversations"),
    path("conversations/histories/", views.add_histories, name="conversations-histories"),
    path("personas/", views.personas, name="personas"),
    path("personas/add/", views.add, name="persona-add"),
    path("personas/attributes/", views.add_attributes, name="attributes"),
    path("personas/split/", views.split, name="persona-split"),
    path("personas/<int:pk>/", views.persona, name="persona"),
    path("personas/<int:pk>/drop/", views.drop, name="persona-drop"),
    path("personas/<int:pk>/restore/", views.restore, name="persona-restore"),
    path("personas/<int:pk>/memories/", views.remember, name="persona-remember"),
    path(
        "personas/<int:pk>/attributes/<int:attribute>/times/", views.set_times, name="persona-times"
    ),
    path("personas/<int:pk>/memories/<int:memory>/remove/", views.forget, name="persona-forget"),
]
urlpatterns = [path("studies/<slug:slug>/", include(of_study))]
