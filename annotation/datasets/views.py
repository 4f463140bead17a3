from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import jobs, refusals, sharing
from annotation.core.jobs import worker_alive
from annotation.core.pages import show, whole_or_part
from annotation.datasets import check, folders, freeze, layouts, release_import, tasks, withdrawals
from annotation.datasets.choices import ReleaseForm, ReleaseUploadForm
from annotation.datasets.models import Release, ReleaseImport
from annotation.studies.access import may_create, member_of, study_page
from annotation.studies.models import Study

PAGE = 20
UNDER_WAY = (Release.Status.REQUESTED, Release.Status.RUNNING)


@study_page(policies.release.may_read, "GET", "POST", post=policies.release.may_freeze)
def releases(request: UserRequest, study: Study) -> HttpResponse:
    """A study's releases, newest first, and the form that asks for the next one."""
    form = ReleaseForm(request.POST or None, initial=freeze.suited(study))
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            release = freeze.request_release(study, by=request.user, **form.cleaned_data)
            tasks.notify(release.pk)
            words = _("Release %(n)d is asked for: its state stands in the list.")
            messages.success(request, words % {"n": release.version})
            return redirect("releases", study.slug)
    page = Paginator(study.releases.order_by("-version"), PAGE).get_page(request.GET.get("page"))
    deletes = policies.release.may_delete(member_of(request.user, study))
    under_way = any(release.status in UNDER_WAY for release in page)
    context = {"study": study, "form": form, "page": page, "deletes": deletes}
    context |= {"under_way": under_way, "nobody_works": under_way and not worker_alive()}
    context |= {"measured": layouts.measured(), "key": check.public_key()}
    # While a release is being written the page asks for its list alone.
    part = "" if request.method == "POST" else "list"
    return whole_or_part(request, "datasets/releases.html", part, context)


@require_http_methods(["GET", "HEAD", "POST"])
def import_release(request: UserRequest) -> HttpResponse:
    """Make a study of a zipped release, and see how one's imports stand."""
    if not may_create(request.user):
        raise PermissionDenied
    form = ReleaseUploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            job = release_import.request_import(by=request.user, **form.cleaned_data)
            jobs.enqueue(tasks.import_upload, job.pk)
            messages.success(request, _("The release is being imported."))
            return redirect("release-import")
    # Those with a digest are records of what came in, one more row of each upload.
    uploaded = ReleaseImport.objects.filter(by=request.user, digest="")
    sent = uploaded.select_related("study").order_by("-pk")
    page = Paginator(sent, PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "page": page, "layouts": list(layouts.by_name())}
    return show(request, "datasets/import_release.html", context)


@study_page(policies.release.may_delete, "GET", "POST")
def delete(request: UserRequest, study: Study, version: int) -> HttpResponse:
    """Ask once, then delete a release that nobody has fetched."""
    release = get_object_or_404(Release, study=study, version=version)
    if request.method != "POST":
        context = {"study": study, "release": release}
        return render(request, "datasets/delete_release.html", context)
    with refusals.as_message(request):
        withdrawals.delete(release, by=request.user)
        messages.success(request, _("Release %(n)d is deleted.") % {"n": version})
    return redirect("releases", study.slug)


@login_not_required
@require_safe
def feed(request: HttpRequest, pk: UUID) -> JsonResponse:
    """For whoever has a release: what became of it. Its id is in its manifest alone."""
    done = Release.objects.filter(status=Release.Status.DONE).select_related("study")
    release = get_object_or_404(done, public_id=pk)
    document = withdrawals.feed(release, request.build_absolute_uri(request.path))
    return JsonResponse(document, content_type="application/feed+json")


@study_page(policies.release.may_read, "GET")
def download(request: UserRequest, study: Study, version: int) -> FileResponse:
    """The release as a zip, the same bytes each time."""
    done = study.releases.filter(status=Release.Status.DONE)
    release = get_object_or_404(done, version=version)
    return zip_response(request, release)


def zip_response(request: HttpRequest, release: Release) -> FileResponse:
    """Stream a finished release's zip; Http404 where its files are not on this machine.

    That the files leave the server is noted: of a HEAD they do not.
    """
    if request.method != "HEAD" and not withdrawals.note_fetch(release):
        raise Http404
    try:
        file = sharing.opened(folders.zip_of(release))
    except FileNotFoundError as error:
        raise Http404 from error
    name = f"{release.frozen['about']['slug']}-v{release.number}-{release.layout}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")
