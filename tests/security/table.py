"""Who may do what: one row for every URL name of the site.

A row names the roles that may use the page and the status of each method for them. Everything else
follows from the doctrine and is not written down: nobody logged in -> the login page (API: 401); a
study that one is no member of -> 404; a page of one's own study that is not for one's role -> 403;
a method that the row does not name -> 405. ``but`` holds what differs from that.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from django.core.files.uploadedfile import SimpleUploadedFile

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROLES = (
    *("anonymous", "gone", "outsider", "left", "fresh", "ann"),
    *("researcher", "curator", "administrator", "site"),
)
STRANGERS = {"outsider", "left"}
UNKNOWN = {"anonymous", "gone"}
LOGGED_IN = set(ROLES) - UNKNOWN
MEMBERS = LOGGED_IN - STRANGERS
READERS = {"researcher", "curator", "administrator", "site"}
MANAGERS = READERS - {"researcher"}
ADMINISTRATORS = {"administrator", "site"}
ANNOTATORS = {"fresh", "ann"}


@dataclass
class Row:
    """``args`` and ``data`` get the world; ``foreign`` are args that must be unknown to all."""

    allow: set
    methods: dict
    args: Callable = lambda w: {}
    data: Callable = lambda w: {}
    foreign: Callable = lambda w: []
    but: dict = field(default_factory=dict)
    refused: int = 403
    api: bool = False
    public: bool = False
    # Methods that may change nothing where they are allowed.
    inert: set = field(default_factory=set)
    changes: set = field(default_factory=lambda: {"POST"})
    # Whatever is asked of it changes something, a refusal too.
    restless: bool = False

    def expected(self, method: str, role: str) -> int:
        """The status that this role must get."""
        if (method, role) in self.but:
            return self.but[method, role]
        if role in UNKNOWN and not self.public:
            return 401 if self.api else 302
        if method not in self.methods:
            return 405
        if role in self.allow or self.public:
            return self.methods[method]
        return 404 if role in STRANGERS else self.refused


def _slug(w) -> dict:
    return {"slug": w.tea.slug}


def page(allow, *, args=_slug, **kwargs) -> Row:
    """A page; lower-case keywords are fields of the row, upper-case ones statuses."""
    methods = {name: kwargs.pop(name) for name in METHODS if name in kwargs}
    return Row(allow, methods, args=args, **kwargs)


def api(allow, *, args=_slug, **kwargs) -> Row:
    """A route of the REST API."""
    return page(allow, args=args, api=True, **kwargs)


def account(unknown: str, known: str, *, restless=False, **args) -> Row:
    """A page of allauth's: the statuses in the order of ``METHODS``, logged out and logged in.

    Its views take PUT for POST, and tell OPTIONS which methods there are.
    """
    columns = [(UNKNOWN, unknown), (LOGGED_IN, known)]
    but = {
        (method, role): int(status)
        for roles, statuses in columns
        for method, status in zip(METHODS, statuses.split(), strict=True)
        for role in roles
    }
    return Row(set(), {}, args=lambda w: args, but=but, public=True, restless=restless)


def _none(w) -> dict:
    return {}


def _thing(**names) -> dict:
    """Args that name a thing of tea's, and the same address with rain's thing."""

    def of(things, w):
        values = {}
        for key, path in names.items():
            value = things
            for part in path.split("."):
                value = getattr(value, part)
            values[key] = value
        return {"slug": w.tea.slug, **values}

    return {
        "args": lambda w: of(w.mine, w),
        "foreign": lambda w: [of(w.other, w)],
    }


def _slot(w) -> dict:
    return {"pk": w.mine.slot.pk}


def _release() -> dict:
    return {
        "args": lambda w: {"pk": w.mine.release.public_id},
        "foreign": lambda w: [{"pk": w.other.release.public_id}],
    }


def _choice(w) -> dict:
    option = w.mine.slot.item.options.first()
    return {"slot": str(w.mine.slot.pk), "choice": str(option.candidate_id), "key": "k"}


def _task(w) -> dict:
    common = {"options": 3, "overlap": 9, "reason": "off", "pairs_per_query": 1}
    return {"name": "new", "guideline": "Read.", **common}


def _file(record) -> SimpleUploadedFile:
    return SimpleUploadedFile("rows.jsonl", json.dumps(record).encode())


def _memory() -> dict:
    """A memory's address names its persona too: each of them may be foreign."""

    def of(persona, memory, w):
        return {"slug": w.tea.slug, "pk": persona.persona.pk, "memory": memory.memory.pk}

    return {
        "args": lambda w: of(w.mine, w.mine, w),
        "foreign": lambda w: [
            of(w.mine, w.other, w),
            of(w.other, w.other, w),
            of(w.other, w.mine, w),
        ],
    }


def _results() -> dict:
    """Tasks of two studies may have one name: the foreign one is a name that tea has not."""

    def of(task, w):
        return {"slug": w.tea.slug, "task": task}

    return {"args": lambda w: of(w.mine.batch.task.name, w), "foreign": lambda w: [of("none", w)]}


def _result_item() -> dict:
    """An item's page names its task too: each of them may be foreign."""

    def of(task, things, w):
        return {"slug": w.tea.slug, "task": task, "pk": things.slot.item.pk}

    return {
        "args": lambda w: of(w.mine.batch.task.name, w.mine, w),
        "foreign": lambda w: [of(w.mine.batch.task.name, w.other, w), of("none", w.mine, w)],
    }


WORDS = {"text": "What now?", "type": "general"}
PERSONA = {"id": "p9", "profile": {"Name": "Noa"}}
QUERY = {"id": "q9", "text": "What now?"}
STUDY = {"title": "New", "slug": "new-one", "languages": ["en"], "consent": "I agree."}

# GET HEAD POST PUT PATCH DELETE OPTIONS
OPEN = "200 200 200 200 405 405 200"
SAY = "200 200 405 405 405 405 200"
AWAY = "302 302 302 302 302 302 302"
SHUT = "200 200 200 200 200 200 200"

TABLE = {
    # --- Health: for machines, without a login -------------------------------------------------
    "live": page(set(), args=_none, public=True, GET=200, HEAD=200),
    "ready": page(set(), args=_none, public=True, GET=200, HEAD=200),
    # --- One's own -----------------------------------------------------------------------------
    "home": page(LOGGED_IN, args=_none, GET=200, HEAD=200),
    "tokens": page(LOGGED_IN, args=_none, GET=200, POST=200, data=lambda w: {"days": 9}),
    "token-revoke": page(
        {"ann"}, args=lambda w: {"pk": w.tokens["ann"][0].pk}, refused=404, POST=302
    ),
    # --- The accounts of allauth ---------------------------------------------------------------
    "account_login": account(OPEN, AWAY),
    "account_logout": account("302 302 302 405 405 405 200", "200 200 302 405 405 405 200"),
    "account_signup": account(SHUT, AWAY),
    "account_inactive": account(SAY, SAY),
    # allauth notes an account's address when its page is first opened, in whatever way.
    "account_email": account(AWAY, "200 200 302 302 405 405 200", restless=True),
    "account_email_verification_sent": account(SAY, SAY),
    "account_confirm_email": account(
        "200 200 404 405 405 405 200", "200 200 404 405 405 405 200", key="guessed"
    ),
    "account_confirm_login_code": account(AWAY, AWAY),
    "account_change_password": account(AWAY, OPEN),
    "account_set_password": account(AWAY, AWAY),
    "account_reauthenticate": account(AWAY, OPEN),
    "account_reset_password": account(OPEN, OPEN),
    "account_reset_password_done": account(SAY, SAY),
    "account_reset_password_from_key": account(SHUT, SHUT, uidb36="1", key="guessed"),
    "account_reset_password_from_key_done": account(SAY, SAY),
    # --- Studies -------------------------------------------------------------------------------
    "study-new": page(
        {"curator", "administrator", "site", "outsider"},
        args=_none,
        GET=200,
        POST=302,
        data=lambda w: STUDY,
        # There is nothing to hide: whoever runs no study may not start one.
        but={("GET", "left"): 403, ("POST", "left"): 403},
    ),
    "settings": page(ADMINISTRATORS, GET=200, POST=302, data=lambda w: {**STUDY, "title": "Other"}),
    "status": page(ADMINISTRATORS, POST=302, data=lambda w: {"status": "closed"}),
    "consent": page(
        MEMBERS,
        GET=200,
        POST=302,
        data=lambda w: {"text": w.tea.consent_text.pk, "agree": "1"},
    ),
    "people": page(ADMINISTRATORS, GET=200, POST=200, data=lambda w: {"role": "annotator"}),
    "member": page(
        ADMINISTRATORS, **_thing(pk="member.pk"), POST=302, data=lambda w: {"role": "curator"}
    ),
    "revoke": page(ADMINISTRATORS, **_thing(pk="invitation.pk"), POST=302),
    "invitation": page(
        LOGGED_IN,
        args=lambda w: {"key": w.mine.key},
        foreign=lambda w: [{"key": "guessed"}, {"key": w.mine.key.swapcase()}],
        public=True,
        GET=200,
        POST=409,  # members are members already
        but={
            # Without an account the page says how to get one; strangers join.
            **{("POST", role): 200 for role in UNKNOWN},
            **{("POST", role): 302 for role in (*STRANGERS, "site")},
        },
        inert={"POST"},
    ),
    # --- Judging -------------------------------------------------------------------------------
    "judge": page(
        ANNOTATORS,
        GET=200,
        POST=302,
        data=_choice,
        # Without consent: to the consent page.
        but={("GET", "fresh"): 302},
        # The documented exception: opening the page claims a slot or renews its lease.
        changes={"GET", "POST"},
    ),
    "skip": page(
        ANNOTATORS,
        POST=302,
        data=lambda w: {"slot": str(w.mine.slot.pk), "reason": "No idea."},
        # Somebody else's slot.
        but={("POST", "fresh"): 404},
    ),
    "guideline": page(MEMBERS, GET=200, HEAD=200),
    "tasks": page(MANAGERS, GET=200, POST=302, data=_task),
    "open-batch": page(MANAGERS, **_thing(name="batch.task.name"), POST=302, inert={"POST"}),
    "close-batch": page(MANAGERS, **_thing(batch="batch.pk"), POST=302),
    "study": page(READERS, GET=200, HEAD=200),
    "planner": page(READERS, GET=200, HEAD=200),
    "results": page(READERS, **_results(), GET=200, HEAD=200),
    "rule-preview": page(READERS, **_results(), GET=200, HEAD=200),
    "result-item": page(READERS, **_result_item(), GET=200, HEAD=200),
    # --- Personas and queries ------------------------------------------------------------------
    "personas": page(MANAGERS, GET=200, POST=302, data=lambda w: {"file": _file(PERSONA)}),
    "persona-add": page(
        MANAGERS, GET=200, POST=302, data=lambda w: {"external_id": "p9", "name": "Noa"}
    ),
    "persona": page(
        MANAGERS, **_thing(pk="persona.pk"), GET=200, POST=302, data=lambda w: {"name": "Noa"}
    ),
    "persona-drop": page(
        MANAGERS, **_thing(pk="persona.pk"), POST=302, data=lambda w: {"reason": "stereotyped"}
    ),
    "persona-restore": page(MANAGERS, **_thing(pk="persona.pk"), POST=302, inert={"POST"}),
    "persona-remember": page(
        MANAGERS, **_thing(pk="persona.pk"), POST=302, data=lambda w: {"text": "A walk."}
    ),
    "persona-forget": page(MANAGERS, **_memory(), POST=302),
    "queries": page(MANAGERS, GET=200, POST=302, data=lambda w: {"file": _file(QUERY)}),
    "query-add": page(MANAGERS, GET=200, POST=302, data=lambda w: {"external_id": "q9", **WORDS}),
    "query": page(MANAGERS, **_thing(pk="query.pk"), GET=200, POST=302, data=lambda w: WORDS),
    # --- Answers and releases ------------------------------------------------------------------
    "candidates": page(MANAGERS, GET=200, POST=200, inert={"POST"}),
    "candidates-retry": page(MANAGERS, POST=302, inert={"POST"}),
    "releases": page(READERS, GET=200, HEAD=200, POST=302, data=lambda w: {"layout": "long"}),
    "release_download": page(READERS, **_thing(version="release.version"), GET=200, HEAD=200),
    # --- API -----------------------------------------------------------------------------------
    "api-root": api(LOGGED_IN, args=_none, GET=200, HEAD=200),
    "api-studies": api(LOGGED_IN, args=_none, GET=200, HEAD=200),
    "api-study": api(MEMBERS, GET=200, HEAD=200),
    "api-claim": api(ANNOTATORS, POST=200, but={("POST", "fresh"): 403}),
    "api-judgments": api(READERS, GET=200, HEAD=200),
    "api-judgment": api(
        {"ann"},
        args=_slot,
        foreign=lambda w: [{"pk": w.other.slot.pk}, {"pk": w.bo_slot.pk}],
        refused=404,
        POST=201,
        data=_choice,
        # Asked for consent before anything is looked at.
        but={("POST", "fresh"): 403},
    ),
    "api-release": api(
        {"ann"},
        args=_slot,
        foreign=lambda w: [{"pk": w.other.slot.pk}, {"pk": w.bo_slot.pk}],
        refused=404,
        POST=204,
    ),
    "api-releases": api(READERS, POST=202, data=lambda w: {"layout": "long"}),
    "api-release-status": api(READERS, **_release(), GET=200, HEAD=200),
    "api-release-download": api(READERS, **_release(), GET=200, HEAD=200),
    "api-schema": api(LOGGED_IN, args=_none, GET=200, HEAD=200),
    # A page for people: to the login, not 401.
    "api-docs": page(LOGGED_IN, args=_none, GET=200, HEAD=200),
}
