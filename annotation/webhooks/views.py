"""The page of a study's webhooks."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import jobs, refusals
from annotation.core.outgoing import URL_LIMIT
from annotation.core.pages import show
from annotation.studies.access import study_page
from annotation.studies.models import Study
from annotation.webhooks import deliver, tasks
from annotation.webhooks.deliver import EVENTS
from annotation.webhooks.models import Delivery, Webhook

MESSAGES_A_PAGE = 50


WORDS = {
    "judgment.stored": gettext_lazy("a judgment is stored"),
    "item.complete": gettext_lazy("an item has all its judgments"),
    "batch.complete": gettext_lazy("a batch has all its judgments"),
    "import.finished": gettext_lazy("an import is finished"),
    "answers.finished": gettext_lazy("answers are written"),
    "review.finished": gettext_lazy("everything is reviewed"),
    "model.finished": gettext_lazy("a model's run is finished"),
    "release.ready": gettext_lazy("a release is ready"),
    "release.revised": gettext_lazy("a release is written again"),
}


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"), max_length=URL_LIMIT, widget=forms.URLInput
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=lambda: [(name, f"{words} ({name})") for name, words in WORDS.items()],
        initial=list(EVENTS),
        widget=forms.CheckboxSelectMultiple,
    )


@study_page(policies.webhook.may_manage, "GET", "POST")
def webhooks(request: UserRequest, study: Study) -> HttpResponse:
    """The study's webhooks and their messages; POST adds one."""
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form, "url"):
            deliver.add_webhook(study, **form.cleaned_data, by=request.user)
            return redirect("webhooks", study.slug)
    sent = Delivery.objects.filter(webhook__study=study).select_related("webhook")
    page = Paginator(sent.order_by("-created_at", "pk"), MESSAGES_A_PAGE)
    context = {
        "study": study,
        "form": form,
        "webhooks": study.webhooks.order_by("pk"),
        "page": page.get_page(request.GET.get("page")),
    }
    return show(request, "webhooks/webhooks.html", context)


@study_page(policies.webhook.may_manage, "POST")
def change(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Test, pause or remove a webhook; removing asks first."""
    webhook = get_object_or_404(Webhook, study=study, pk=pk)
    action = request.POST.get("action")
    if action == "test":
        jobs.enqueue(tasks.send, deliver.test(webhook).pk)
        messages.success(request, _("A test message is on its way: it appears below."))
    elif action == "pause":
        deliver.pause(webhook, by=request.user)
    elif action == "remove":
        if not request.POST.get("sure"):
            return render(request, "core/sure.html", _question(webhook))
        deliver.remove(webhook, by=request.user)
        messages.success(request, _("The webhook is removed."))
    return redirect("webhooks", study.slug)


def _question(webhook: Webhook) -> dict:
    return {
        "title": _("Remove “%(name)s”?") % {"name": webhook.url},
        "sentence": _(
            "Nothing is sent there any more. Its secret and its log of messages are deleted."
        ),
        "button": _("Remove"),
        "fields": {"action": "remove"},
        "back": reverse("webhooks", args=[webhook.study.slug]),
    }


@study_page(policies.webhook.may_manage, "POST")
def replay(request: UserRequest, study: Study, pk: UUID) -> HttpResponse:
    """Send a message once more."""
    delivery = get_object_or_404(Delivery, webhook__study=study, pk=pk)
    deliver.replay(delivery, by=request.user)
    jobs.enqueue(tasks.send, delivery.pk)
    return redirect("webhooks", study.slug)
