"""A study's steps in the order of work: how far each is, what blocks it, and what to do next."""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

from django.db import connection
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.accounts.models import User
from annotation.candidates.strategies import by_name
from annotation.datasets import papers
from annotation.queries.scenarios import FEWEST, SHOTS
from annotation.studies.access import member_of, opens
from annotation.studies.models import Study

# Numbers of rows, by the names of the statement's columns.
Figures = SimpleNamespace

# ``judgments`` and ``wanted`` count those of work, not of checks.
_STATEMENT = """
WITH current AS (
    SELECT q.id FROM queries_query q LEFT JOIN personas_persona p ON p.id = q.persona_id
    WHERE q.study_id = %(study)s AND q.replaced_at IS NULL AND p.dropped_at IS NULL
), answers AS (
    SELECT query_id, status FROM candidates_candidate
    WHERE study_id = %(study)s AND purpose = 'answer'
), own AS (
    SELECT id FROM queries_query
    WHERE study_id = %(study)s AND owner_id IS NOT NULL AND replaced_at IS NULL AND ready
), scored AS (
    SELECT i.query_id, count(*) AS answers, count(DISTINCT c.text) AS texts
    FROM own JOIN judging_item i ON i.query_id = own.id
    JOIN judging_batch b ON b.id = i.batch_id AND b.purpose = 'work'
    JOIN studies_taskdefinition t ON t.id = b.task_id AND t.kind = ANY(%(split)s)
    JOIN judging_itemoption o ON o.item_id = i.id
    JOIN candidates_candidate c ON c.id = o.candidate_id
    WHERE i.done > 0 GROUP BY i.query_id
), work AS (
    SELECT i.done, i.overlap FROM judging_item i JOIN judging_batch b ON b.id = i.batch_id
    WHERE i.study_id = %(study)s AND b.purpose = 'work'
), tasks AS (
    SELECT DISTINCT ON (name) kind, config FROM studies_taskdefinition
    WHERE study_id = %(study)s ORDER BY name, version DESC
)
SELECT
    (SELECT count(*) FROM personas_persona
        WHERE study_id = %(study)s AND dropped_at IS NULL) AS personas,
    (SELECT count(*) FROM current) AS queries,
    -- Current queries without a written answer.
    (SELECT count(*) FROM current WHERE NOT EXISTS (
        SELECT 1 FROM answers WHERE query_id = current.id AND status = 'done')) AS unanswered,
    (SELECT count(*) FROM answers WHERE status = 'done') AS answers,
    (SELECT count(*) FROM answers WHERE status IN ('requested', 'running')) AS writing,
    (SELECT count(*) FROM answers WHERE status = 'failed') AS failed,
    (SELECT count(*) FROM tasks) AS tasks,
    -- Tasks whose items only the owner of a query judges.
    (SELECT count(*) FROM tasks WHERE config @> '{"owner_only": true}') AS owned,
    -- Of those the ones whose scores a release splits into shots and tests of a judge.
    (SELECT count(*) FROM tasks
        WHERE config @> '{"owner_only": true}' AND kind = ANY(%(split)s)) AS split,
    -- Ready queries of owners; those with answers, but too few; those of which a release has tests:
    -- as many judged answers at least, and not all of one text.
    (SELECT count(*) FROM own) AS own,
    (SELECT count(*) FROM (
        SELECT 1 FROM own JOIN answers ON answers.query_id = own.id
        WHERE answers.status NOT IN ('failed', 'cancelled')
        GROUP BY own.id HAVING count(*) < %(fewest)s) AS few) AS short,
    (SELECT count(*) FROM scored WHERE answers >= %(fewest)s AND texts > 1) AS testable,
    (SELECT count(*) FROM studies_membership
        WHERE study_id = %(study)s AND role = 'annotator' AND left_at IS NULL) AS annotators,
    -- Invitations and join codes that can still be used.
    (SELECT count(*) FROM studies_invitation WHERE study_id = %(study)s AND role = 'annotator'
        AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now())
    + (SELECT count(*) FROM studies_joincode WHERE study_id = %(study)s
        AND used < uses AND revoked_at IS NULL AND expires_at > now()) AS ways_in,
    (SELECT count(*) FROM work) AS items,
    (SELECT coalesce(sum(done), 0) FROM work) AS judgments,
    (SELECT coalesce(sum(overlap), 0) FROM work) AS wanted,
    (SELECT count(*) FROM judging_slot
        WHERE study_id = %(study)s AND status = 'held') AS held,
    (SELECT count(*) FROM datasets_release
        WHERE study_id = %(study)s AND status = 'done') AS releases,
    (SELECT count(*) FROM datasets_release
        WHERE study_id = %(study)s AND status IN ('requested', 'running')) AS freezing,
    -- Results computed while items still waited for votes.
    (SELECT count(*) FROM agreement_agreementresult
        WHERE study_id = %(study)s AND NOT closed) AS outdated,
    (SELECT strategies FROM candidates_retrieval WHERE study_id = %(study)s) AS strategies"""


def figures_of(study: Study) -> Figures:
    with connection.cursor() as cursor:
        with_shots = (paper for paper in papers.registered().values() if paper.shots)
        split = [kind for paper in with_shots for kind in paper.kinds]
        cursor.execute(_STATEMENT, {"study": study.pk, "split": split, "fewest": FEWEST})
        columns = [column.name for column in cursor.description]
        figures = Figures(**dict(zip(columns, cursor.fetchone(), strict=True)))
    names, strategies = json.loads(figures.strategies or "[]"), by_name()
    personal = any(name in strategies and strategies[name].needs_persona for name in names)
    # Strategies are chosen for answers, and none of them reads a persona.
    figures.impersonal = bool(names) and not personal
    return figures


@dataclass(frozen=True)
class Step:
    """``state`` is done, running, next (what to do now), open (can be done) or blocked."""

    name: str
    title: str
    state: str
    # What is there, in words, and why it cannot go on.
    figures: list[str]
    action: str
    # The name of the page where it is done.
    page: str
    blocked: str = ""
    part: tuple[int, int] | None = None
    # Another way to do it: its words and the name of its page.
    other: tuple[str, str] | None = None
    url: str = ""
    other_url: str = ""

    @property
    def state_words(self) -> str:
        words = {"done": _("done"), "running": _("under way"), "next": _("next")}
        words |= {"blocked": _("waits"), "open": _("to do")}
        return words[self.state]


def steps_of(study: Study, figures: Figures, agreement: list[str], user: User) -> list[Step]:
    """The steps of ``study`` for ``user``; ``agreement`` has a sentence a task that was computed.

    The first one that is neither done, running nor blocked is what to do next; while people judge,
    nothing after it is.
    """
    material = [_questions(figures), _answers(figures)]
    if study.live and not figures.queries:
        # Who talks asks the questions, and is answered at once.
        state = _state(study.status != Study.Status.DRAFT)
        material = [Step("live", _("Live comparison"), state, [], _("Settings"), "talk-setup")]
    steps = [
        *(_people(figures), *material, _tasks(figures)),
        *(_invited(figures), _judging(study, figures)),
        *(_agreement(figures, agreement), _release(figures)),
    ]
    member, shown, waiting = member_of(user, study), [], True
    for step in steps:
        if waiting and step.state == "open":
            step, waiting = replace(step, state="next"), False
        # A release can wait for the judgments that are under way.
        waiting = waiting and (step.name, step.state) != ("judging", "running")
        if opens(step.page, member):
            step = replace(step, url=reverse(step.page, args=[study.slug]))
            if step.other:
                step = replace(step, other_url=reverse(step.other[1], args=[study.slug]))
        elif step.name == "invited" and step.state != "done":
            words = _("An administrator of the study invites people.")
            step = replace(step, figures=[*step.figures, words])
        shown.append(step)
    return shown


def _state(done: bool, *, running: bool = False, blocked: str = "") -> str:
    if running:
        return "running"
    if done:
        return "done"
    return "blocked" if blocked else "open"


def _people(n: Figures) -> Step:
    figures = [ngettext("%(n)d persona", "%(n)d personas", n.personas) % {"n": n.personas}]
    if n.owned and not n.personas:
        figures = [_("Annotators bring their own history; personas are not needed.")]
    elif n.queries and not n.personas:
        figures = [_("The queries stand for themselves; personas are not needed.")]
    elif n.impersonal and not n.personas:
        figures = [_("The answers compared here are written without personas.")]
    state = _state(bool(n.personas or n.owned or n.queries or n.impersonal))
    if state == "open":
        figures.append(_("Optional: for answers to people who are described."))
    action = _("Describe people")
    return Step("people", _("People described"), state, figures, action, "personas")


def _questions(n: Figures) -> Step:
    figures = [ngettext("%(n)d query", "%(n)d queries", n.queries) % {"n": n.queries}]
    blocked = _("Annotators write their own: invite them first.") if n.owned else ""
    if n.owned and n.annotators:
        blocked = _("Annotators write their own.")
    state = _state(bool(n.queries), blocked=blocked)
    action, page, other = _("Write queries"), "queries", (_("Import a file"), "imports")
    if state == "open":
        (action, page), other = other, (action, page)
    blocked = "" if n.queries else blocked
    return Step("questions", _("Questions"), state, figures, action, page, blocked, other=other)


def _answers(n: Figures) -> Step:
    figures = [ngettext("%(n)d answer", "%(n)d answers", n.answers) % {"n": n.answers}]
    without = ngettext("%(n)d query without an answer", "%(n)d queries without an answer",
                       n.unanswered)  # fmt: skip
    for number, words in (
        (n.writing, _("%(n)d being written")),
        (n.failed, _("%(n)d failed")),
        (n.unanswered, without),
    ):
        if number:
            figures.append(words % {"n": number})
    short = n.short if n.split else 0
    if short:
        words = ngettext(
            "%(n)d query with fewer than %(fewest)d answers",
            "%(n)d queries with fewer than %(fewest)d answers",
            short,
        )
        figures.append(words % {"n": short, "fewest": FEWEST})
    blocked = "" if n.queries else _("Answers need queries first.")
    state = _state(
        bool(n.answers) and not n.unanswered + short, running=bool(n.writing), blocked=blocked
    )
    part = (n.answers, n.answers + n.writing) if n.writing else None
    action = _("Have answers written")
    return Step("answers", _("Answers"), state, figures, action, "candidates", blocked, part)


def _tasks(n: Figures) -> Step:
    figures = [ngettext("%(n)d task", "%(n)d tasks", n.tasks) % {"n": n.tasks}]
    action = _("Tasks and preview") if n.tasks else _("Define a task")
    return Step("tasks", _("Tasks"), _state(bool(n.tasks)), figures, action, "tasks")


def _invited(n: Figures) -> Step:
    figures = [
        ngettext("%(n)d annotator", "%(n)d annotators", n.annotators) % {"n": n.annotators},
        ngettext("%(n)d invitation or code open", "%(n)d invitations or codes open", n.ways_in)
        % {"n": n.ways_in},
    ]
    if n.judgments and not n.annotators:
        figures[0] = _("The judgments came from files or from people who left.")
    state = _state(bool(n.annotators or n.judgments))
    return Step("invited", _("People invited"), state, figures, _("Invite people"), "people")


def _judging(study: Study, n: Figures) -> Step:
    figures = [
        ngettext("%(n)d item", "%(n)d items", n.items) % {"n": n.items},
        ngettext("%(done)d of %(wanted)d judgment", "%(done)d of %(wanted)d judgments", n.wanted)
        % {"done": n.judgments, "wanted": n.wanted},
    ]
    if n.held:
        figures.append(_("%(n)d in hand now") % {"n": n.held})
    complete = bool(n.items) and n.judgments >= n.wanted
    blocked = "" if complete else _judging_blocked(study, n)
    running = bool(n.items) and not complete and not blocked
    state = _state(complete, running=running, blocked=blocked)
    part = (n.judgments, n.wanted) if n.items else None
    action = _("Open a batch")
    return Step("judging", _("Judging"), state, figures, action, "tasks", blocked, part)


def _judging_blocked(study: Study, n: Figures) -> str:
    if not n.tasks:
        return _("A batch needs a task first.")
    if n.owned and not n.answers:
        return _("A batch needs answers first.")
    if n.items and study.status == Study.Status.CLOSED:
        return _("The study is closed: an administrator can open it in its settings.")
    if n.items and not n.annotators:
        return _("Nobody is there to judge yet.")
    return ""


def _agreement(n: Figures, sentences: list[str]) -> Step:
    blocked = "" if n.judgments else _("Agreement needs judgments first.")
    figures = sentences or ([] if blocked else [_("It is being computed.")])
    complete = bool(sentences) and n.judgments >= n.wanted and not n.outdated
    state = _state(complete, running=bool(n.judgments) and not complete, blocked=blocked)
    action = _("Look at the results")
    return Step("agreement", _("Agreement"), state, figures, action, "study", blocked)


def _release(n: Figures) -> Step:
    blocked = "" if n.judgments else _("A release needs judgments first.")
    figures = [ngettext("%(n)d release", "%(n)d releases", n.releases) % {"n": n.releases}]
    if n.freezing:
        figures.append(_("%(n)d being written") % {"n": n.freezing})
    if n.split and n.own:
        words = _("queries that can be released with tests of a judge: %(n)d of %(of)d")
        figures.append(words % {"n": n.testable, "of": n.own})
    untested = n.split and not n.testable
    if untested and n.judgments:
        words = _(
            "A query with tests needs %(fewest)d judged answers, not all of one text: %(shots)d "
            "are shown to the judge as examples, the others test it."
        )
        figures.append(words % {"fewest": FEWEST, "shots": SHOTS})
    state = _state(bool(n.releases) and not untested, running=bool(n.freezing), blocked=blocked)
    action = _("Freeze a release")
    return Step("release", _("Release"), state, figures, action, "releases", blocked)
