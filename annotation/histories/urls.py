from django.urls import path

from annotation.histories import views

urlpatterns = [
    path("history/", views.history, name="history"),
    path("history/decide/", views.decide, name="history-decide"),
    path("history/undecided/", views.undecided, name="history-undecided"),
    path("history/uploads/", views.uploads, name="history-uploads"),
    path("history/uploads/<uuid:pk>/", views.upload, name="history-upload"),
    path("history/sessions/<uuid:pk>/", views.session, name="history-session"),
    path("history/sessions/<uuid:pk>/opened/", views.note_opened, name="history-opened"),
    path("history/sessions/<uuid:pk>/mark/", views.mark, name="history-mark"),
    path("history/sessions/<uuid:pk>/strike/", views.strike, name="history-strike"),
    path("history/late/", views.accept_late, name="history-late"),
    path("history/privacy/", views.privacy, name="history-privacy"),
    path("history/privacy/words/<int:pk>/", views.word_remove, name="history-word"),
    path("history/privacy/kinds/", views.kind, name="history-kind"),
    path("history/consent/", views.consents, name="history-consent"),
    path("history/erase/", views.forget, name="history-forget"),
]
