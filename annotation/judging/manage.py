"""The curators' page of tasks and batches."""

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Max, Sum
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.judging.kinds import selection
from annotation.judging.models import Batch
from annotation.judging.open import close_batch, open_batch
from annotation.studies.access import MANAGERS, study_for
from annotation.studies.models import Study, TaskDefinition


class TaskForm(forms.Form):
    """A selection task. Saving under a name that exists makes its next version."""

    name = forms.SlugField(label=gettext_lazy("Name"), max_length=60)
    options = forms.TypedChoiceField(
        label=gettext_lazy("Answers side by side"), choices=[(3, "3"), (2, "2")], coerce=int
    )
    overlap = forms.IntegerField(
        label=gettext_lazy("Judgments an item"), min_value=1, max_value=99, initial=9
    )
    tie = forms.BooleanField(label=gettext_lazy("Allow “equally good”"), required=False)
    none = forms.BooleanField(label=gettext_lazy("Allow “none meets the need”"), required=False)
    reason = forms.ChoiceField(
        label=gettext_lazy("Written reason"),
        choices=[
            ("off", gettext_lazy("not asked")),
            ("optional", gettext_lazy("optional")),
            ("required", gettext_lazy("required")),
        ],
    )
    pairs_per_query = forms.IntegerField(
        label=gettext_lazy("Pairs a query (for two answers)"), min_value=1, max_value=100, initial=1
    )
    guideline = forms.CharField(
        label=gettext_lazy("Guideline (Markdown)"), widget=forms.Textarea, required=False
    )

    def save(self, study, by) -> TaskDefinition:
        data = dict(self.cleaned_data)
        fields = {name: data.pop(name) for name in ("name", "overlap", "guideline")}
        with transaction.atomic():
            # Two saves under one name would take the same version.
            Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            newest = study.tasks.filter(name=fields["name"])
            version = (newest.aggregate(v=Max("version"))["v"] or 0) + 1
            task = TaskDefinition.objects.create(
                study=study,
                version=version,
                kind="selection",
                config=selection.check_config(data),
                **fields,
            )
            audit.record(by, "task.define", task, version=version)
        return task


@require_http_methods(["GET", "POST"])
def tasks(request, slug):
    study = study_for(request.user, slug, MANAGERS)
    form = TaskForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        task = form.save(study, request.user)
        messages.success(request, _("Task %(task)s is defined.") % {"task": task})
        return redirect("tasks", slug)
    context = {
        "study": study,
        "form": form,
        "tasks": study.tasks.order_by("name", "-version").distinct("name"),
        "batches": _batches(study),
    }
    return render(request, "judging/tasks.html", context, status=400 if form.errors else 200)


@require_POST
def open_(request, slug, name):
    """Plan and open items for every answered query that this task does not have yet."""
    study = study_for(request.user, slug, MANAGERS)
    task = study.tasks.filter(name=name).order_by("-version").first()
    if task is None:
        raise Http404
    try:
        batch = open_batch(study, task, by=request.user)
    except DomainError as refusal:
        messages.error(request, refusal.sentence)
        return redirect("tasks", slug)
    if batch:
        words = ngettext("%(n)d item is open.", "%(n)d items are open.", batch.size)
        messages.success(request, words % {"n": batch.size})
    else:
        messages.warning(
            request, _("Nothing to open: no query has new answers for this task. Generate first.")
        )
    return redirect("tasks", slug)


@require_POST
def close(request, slug, batch):
    study = study_for(request.user, slug, MANAGERS)
    close_batch(get_object_or_404(Batch, study=study, pk=batch), by=request.user)
    messages.success(request, _("The batch is closed; items in hand may still be submitted."))
    return redirect("tasks", slug)


def _batches(study):
    return (
        study.batches.select_related("task")
        .annotate(done=Sum("items__done"), wanted=Sum("items__overlap"))
        .order_by("-pk")
    )
