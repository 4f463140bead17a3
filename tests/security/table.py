"""Who may do what: one row for every URL name of the site.

A row names the policy that guards the page (where none does, the roles that may use it) and the
status of each method for those whom it lets; test_policies.py says which roles a policy lets.
Everything else follows from the doctrine and is not written down: nobody logged in -> the login
page (API: 401); a study that one is no member of -> 404; a page of one's own study that is not for
one's role -> 403; a method that the row does not name -> 405. ``but`` holds what differs from that.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.policies import (
    Member,
    batch,
    candidate,
    check,
    data_import,
    generation,
    installation,
    judgment,
    member,
    message,
    persona,
    query,
    rater,
    release,
    result,
    run,
    source,
    study,
    task,
    webhook,
)

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROLES = (
    *("anonymous", "gone", "outsider", "left", "fresh", "ann"),
    *("researcher", "curator", "administrator", "site"),
)
STRANGERS = {"outsider", "left"}
UNKNOWN = {"anonymous", "gone"}
LOGGED_IN = set(ROLES) - UNKNOWN
# As policies see them in "tea"; nobody else gets as far as a policy.
STANDINGS = {
    **dict.fromkeys(STRANGERS, Member(None)),
    **dict.fromkeys(("fresh", "ann"), Member("annotator")),
    **{role: Member(role) for role in ("researcher", "curator", "administrator")},
    "site": Member(None, is_superuser=True),
}
# In the study where they may do most.
ANYWHERE = STANDINGS | {"outsider": Member("curator")}


@dataclass
class Row:
    """``args`` and ``data`` get the world; ``foreign`` are args that must be unknown to all.

    ``may`` has the policy of each method that one guards, asked of the standings ``among``.
    """

    allow: set
    methods: dict
    may: dict = field(default_factory=dict)
    among: dict = field(default_factory=lambda: STANDINGS)
    args: Callable = lambda w: {}
    data: Callable = lambda w: {}
    foreign: Callable = lambda w: []
    but: dict = field(default_factory=dict)
    refused: int = 403
    api: bool = False
    public: bool = False
    # Where whoever is not logged in is sent.
    leads: str = "/accounts/login/"
    # Methods that may change nothing where they are allowed.
    inert: set = field(default_factory=set)
    changes: set = field(default_factory=lambda: {"POST", "PUT", "PATCH", "DELETE"})
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
        if role in self.allowed(method) or self.public:
            return self.methods[method]
        return 404 if role in STRANGERS else self.refused

    def allowed(self, method: str) -> set:
        """The roles that may use this method."""
        return granted(self.may[method], self.among) if method in self.may else self.allow


def granted(may: Callable[[Member], bool], among: dict) -> set:
    """The roles that a policy lets."""
    return {role for role, member in among.items() if may(member)}


def _slug(w) -> dict:
    return {"slug": w.tea.slug}


def page(allow, data=None, *, args=_slug, may=None, among=STANDINGS, **kwargs) -> Row:
    """A page; lower-case keywords are fields of the row, upper-case ones statuses.

    ``allow`` is a policy or a set of roles, ``may`` has the policies of methods with another one.
    ``data`` is what is sent, or gets the world for it. ``SAFE`` is the status of GET and of HEAD.
    """
    if data is not None:
        kwargs["data"] = data if callable(data) else lambda w: data
    methods = {name: kwargs.pop(name) for name in METHODS if name in kwargs}
    if "SAFE" in kwargs:
        methods |= dict.fromkeys(("GET", "HEAD"), kwargs.pop("SAFE"))
    asked = dict.fromkeys(methods, allow) if callable(allow) else {}
    allow = granted(allow, among) if callable(allow) else allow
    return Row(allow, methods, asked | (may or {}), among, args=args, **kwargs)


def look(allow, **kwargs) -> Row:
    """A page to read."""
    return page(allow, SAFE=200, **kwargs)


def act(allow, data=None, **kwargs) -> Row:
    """A button, which leads on."""
    return page(allow, data, POST=302, **kwargs)


def form(allow, data=None, **kwargs) -> Row:
    """A page with a form, which leads on."""
    return page(allow, data, SAFE=200, POST=302, **kwargs)


def own(allow, data=None, **kwargs) -> Row:
    """A page whose address names nothing."""
    return page(allow, data, args=_none, **kwargs)


def api(allow, data=None, *, args=_slug, **kwargs) -> Row:
    """A route of the REST API."""
    return page(allow, data, args=args, api=True, **kwargs)


def api_rows(policy, row) -> Row:
    """A list of a study to which ``row(world)`` can be added."""
    return api(
        policy.may_read,
        SAFE=200,
        POST=201,
        may={"POST": policy.may_change},
        data=lambda w: {"rows": [row(w)]},
    )


def _external(w, name: str) -> str:
    return getattr(w.mine, name).external_id


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


def _operators(*, args=_none, **kwargs) -> Row:
    """A page of the site's administrators."""
    row = page(installation.may_operate, args=args, **kwargs)
    row.but = {(method, role): 403 for method in row.methods for role in STRANGERS}
    return row


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

    return {"args": lambda w: of(w.mine, w), "foreign": lambda w: [of(w.other, w)]}


def _word(*kept, **words) -> dict:
    """Args with these words, and the same address with words that name nothing but for ``kept``."""
    none = words | {name: "nonsense" for name in words if name not in kept}
    return {"args": lambda w: {**_slug(w), **words}, "foreign": lambda w: [{**_slug(w), **none}]}


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


def _other_choice(w) -> dict:
    option = w.judged.item.options.last()
    return {"choice": str(option.candidate_id), "key": "other"}


def crowd_token(source) -> str:
    """What a crowd source's link carries."""
    from annotation.studies import crowd

    return crowd.token(source)


def _task(w) -> dict:
    common = {"options": 3, "overlap": 9, "reason": "off", "pairs_per_query": 1}
    return {"name": "new", "guideline": "Read.", **common}


def _file(record) -> SimpleUploadedFile:
    return SimpleUploadedFile("rows.jsonl", json.dumps(record).encode())


def _of_persona(what: str) -> dict:
    """The address of a memory or attribute names its persona too: each of them may be foreign."""

    def of(persona, thing, w):
        return {"slug": w.tea.slug, "pk": persona.persona.pk, what: getattr(thing, what).pk}

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


def _figure() -> dict:
    """The days of a task as a table, which every task with votes has."""
    figure = {"name": "days", "ending": "csv"}
    rows = _results()
    return {
        "args": lambda w: rows["args"](w) | figure,
        "foreign": lambda w: [one | figure for one in rows["foreign"](w)],
    }


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
ATTRIBUTE = {"id": "a9", "persona": "p1", "text": "Grows ferns."}
QUERY = {"id": "q9", "text": "What now?"}
EXAMPLE = {"id": "e1", "text": "Which book shall I read?", "memories": ["Reads at night."]}
# Nobody's: who sent a release sees its import, and nobody else.
UPLOAD = "00000000-0000-4000-8000-000000000000"
STUDY = {"title": "New", "slug": "new-one", "languages": ["en"], "consent": "I agree."}
SURVEY = {"questions": "Age? | under 40 | 40 and over", "consent": "I agree."}
CHANGED = {**STUDY, "title": "Other", "edit_hours": 24}
SOURCE = {"name": "Round 2", "completion_code": "C2"}


# Who has not consented reads and writes nothing of their own, either.
def _fresh(*methods, status=403) -> dict:
    return {(method, "fresh"): status for method in methods}


def _own() -> dict:
    """Args of a page of Ann's own query; Bo's, of another study, is unknown to everybody."""
    return {
        "args": lambda w: {"slug": w.tea.slug, "key": w.mine.owner_queries.external_id},
        "foreign": lambda w: [{"slug": w.tea.slug, "key": w.other.owner_queries.external_id}],
    }


def _of_item(slot: str) -> dict:
    """Args of the item of one of the world's slots; rain's is unknown."""
    return {
        "args": lambda w: {"slug": w.tea.slug, "pk": getattr(w, slot).item_id},
        "foreign": lambda w: [{"slug": w.tea.slug, "pk": w.other.slot.item_id}],
    }


def _rater() -> dict:
    """Args of Ann as a rater; Curt annotates nothing here."""
    return {
        "args": lambda w: {"slug": w.tea.slug, "user": w.users["ann"].pk},
        "foreign": lambda w: [{"slug": w.tea.slug, "user": w.users["outsider"].pk}],
    }


# GET HEAD POST PUT PATCH DELETE OPTIONS
OPEN = "200 200 200 200 405 405 200"
SAY = "200 200 405 405 405 405 200"
AWAY = "302 302 302 302 302 302 302"
SHUT = "200 200 200 200 200 200 200"
NONE = "404 404 404 404 404 404 404"


def _history(part: str) -> dict:
    """Args of something in Ann's history; Bo's is unknown to everybody, and Ann's to all others."""
    return {
        "args": lambda w: {"pk": getattr(w.mine.history, part).pk},
        "foreign": lambda w: [{"pk": getattr(w.other.history, part).pk}],
        "refused": 404,
    }


def _marked(w) -> dict:
    return {"mark": w.mine.history.mark.pk, "state": "rejected"}


TABLE = {
    # --- Health: for machines, without a login -------------------------------------------------
    "live": own(set(), public=True, SAFE=200),
    "ready": own(set(), public=True, SAFE=200),
    # --- One's own -----------------------------------------------------------------------------
    "home": own(LOGGED_IN, public=True, SAFE=200),
    "studies": own(LOGGED_IN, SAFE=200),
    "sessions": own(LOGGED_IN, GET=200, POST=302, leads="/sessions/", inert={"POST"}),
    "held": own(LOGGED_IN, SAFE=200),
    "held-export": own(LOGGED_IN, POST=302, inert={"POST"}),
    # A new one asks for the password once more.
    "tokens": own(LOGGED_IN, GET=200, POST=302, inert={"POST"}),
    "tokens-revoke": own(LOGGED_IN, POST=302, leads="/tokens/"),
    "reading": own(LOGGED_IN, {"reads": ["en"]}, GET=200, POST=302, leads="/reading/"),
    "language": own(LOGGED_IN, {"language": "ko"}, public=True, POST=302, leads="/"),
    "token-revoke": act({"ann"}, args=lambda w: {"pk": w.tokens["ann"][0].pk}, refused=404),
    # --- One's own history -----------------------------------------------------------------------
    "history": own(LOGGED_IN, SAFE=200),
    "history-decide": own(
        {"ann"},
        refused=404,
        POST=302,
        data=lambda w: {"session": w.mine.history.session.pk, "action": "keep"},
    ),
    "history-undecided": own(LOGGED_IN, SAFE=302),
    "history-uploads": own(LOGGED_IN, SAFE=200, POST=302, data=lambda w: {"file": _file({})}),
    "history-upload": act({"ann"}, {"action": "erase", "sure": "1"}, **_history("upload")),
    "history-session": look({"ann"}, **_history("session")),
    "history-opened": page({"ann"}, **_history("session"), POST=204),
    "history-mark": act({"ann"}, _marked, **_history("session")),
    "history-strike": act({"ann"}, {"text": "n@"}, **_history("session")),
    "history-late": own(
        LOGGED_IN,
        POST=302,
        data=lambda w: {"session": w.mine.history.session.pk},
        # Nothing was found later there.
        inert={"POST"},
        but={("POST", role): 404 for role in LOGGED_IN - {"ann"}},
    ),
    "history-privacy": own(LOGGED_IN, {"word": "Rosa"}, SAFE=200, POST=302),
    "history-word": act({"ann"}, **_history("word")),
    "history-kind": own(LOGGED_IN, {"kind": "email", "state": "rejected"}, POST=302),
    "history-consent": own(
        LOGGED_IN,
        SAFE=200,
        POST=302,
        data=lambda w: {"study": w.tea.pk, "purpose": "show_to_judges", "allow": "1"},
        # Only a member knows of the study; the site's administrator has no history in it.
        but={("POST", role): 404 for role in (*STRANGERS, "site")},
    ),
    "history-forget": own(LOGGED_IN, {"sure": "1"}, POST=302),
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
    # No log-in server is set.
    "openid_connect_login": account(NONE, NONE, provider_id="main"),
    "openid_connect_callback": account(NONE, NONE, provider_id="main"),
    "socialaccount_login_cancelled": account(SAY, SAY),
    "socialaccount_login_error": account(AWAY, "401 401 405 405 405 405 200"),
    "socialaccount_signup": account(AWAY, AWAY),
    "socialaccount_connections": account(AWAY, OPEN),
    # Its pages ask for the password once more; who has no second factor has nothing to see.
    "mfa_index": account(AWAY, SAY),
    "mfa_list_webauthn": account(AWAY, SAY),
    "mfa_add_webauthn": account(AWAY, AWAY),
    "mfa_reauthenticate_webauthn": account(AWAY, AWAY),
    "mfa_remove_webauthn": account(AWAY, AWAY, pk=10**9),
    "mfa_edit_webauthn": account(AWAY, AWAY, pk=10**9),
    "mfa_login_webauthn": account("302 302 302 302 405 405 200", AWAY),
    "mfa_authenticate": account(AWAY, AWAY),
    "mfa_reauthenticate": account(AWAY, AWAY),
    "mfa_activate_totp": account(AWAY, AWAY),
    "mfa_deactivate_totp": account(AWAY, NONE),
    "mfa_view_recovery_codes": account(AWAY, "404 404 405 405 405 405 200"),
    "mfa_generate_recovery_codes": account(AWAY, AWAY),
    "mfa_download_recovery_codes": account(AWAY, NONE),
    # Nobody is setting one up.
    "totp-picture": own(set(), refused=404, SAFE=200),
    # --- Studies -------------------------------------------------------------------------------
    "clone": form(study.may_administer, {"title": "Again", "slug": "cloned", "parts": ["tasks"]}),
    "definition": look(study.may_administer),
    "study-try": page(
        study.may_create,
        {"recipe": "pairwise"},
        among=ANYWHERE,
        args=_none,
        POST=200,
        inert={"POST"},
        but={("POST", "left"): 403},
    ),
    "study-new": page(
        study.may_create,
        among=ANYWHERE,
        args=_none,
        GET=200,
        POST=302,
        data=STUDY,
        # There is nothing to hide: whoever runs no study may not start one.
        but={("GET", "left"): 403, ("POST", "left"): 403},
    ),
    "settings": form(study.may_administer, CHANGED),
    "texts": form(
        study.may_administer,
        {"title": "In English"},
        args=lambda w: {"slug": w.tea.slug, "language": "en"},
        foreign=lambda w: [{"slug": w.tea.slug, "language": "ko"}],
    ),
    "status": act(study.may_administer, {"status": "closed"}),
    "consent": form(study.may_open, data=lambda w: {"text": w.tea.consent_text.pk, "agree": "1"}),
    "survey": form(
        judgment.may_give,
        data={"decision": "withdraw"},
        # Of somebody who said nothing.
        inert={"POST"},
    ),
    "survey-questions": form(study.may_administer, SURVEY),
    "people": page(member.may_manage, {"role": "annotator"}, SAFE=200, POST=200),
    "member": act(member.may_manage, {"role": "curator"}, **_thing(pk="member.pk")),
    "revoke": act(member.may_manage, **_thing(pk="invitation.pk")),
    "invitation": page(
        LOGGED_IN,
        args=lambda w: {"key": w.mine.key},
        foreign=lambda w: [{"key": "guessed"}, {"key": w.mine.key.swapcase()}],
        public=True,
        GET=200,
        POST=409,
        # members are members already
        but={
            # Without an account the page says how to get one; strangers join.
            **{("POST", role): 200 for role in UNKNOWN},
            **{("POST", role): 302 for role in (*STRANGERS, "site")},
        },
        inert={"POST"},
    ),
    "code-make": page(member.may_manage, {"uses": 5, "days": 5}, POST=200),
    "code-revoke": act(member.may_manage, **_thing(pk="code.pk")),
    "join": own(
        LOGGED_IN,
        public=True,
        GET=200,
        POST=302,
        data=lambda w: {"code": w.mine.signs},
        inert={"POST"},
        leads="/join/study/",
    ),
    # A link fills the code in, whatever it is; only the form looks it up.
    "join-link": page(
        LOGGED_IN,
        args=lambda w: {"code": w.mine.signs},
        public=True,
        GET=200,
        POST=302,
        data=lambda w: {"code": w.mine.signs},
        refused=404,
        inert={"POST"},
        leads="/join/study/",
    ),
    # Nobody has typed a code.
    "join-study": own(LOGGED_IN, public=True, GET=302, POST=302, inert={"POST"}, leads="/join/"),
    "crowd": form(member.may_manage, SOURCE),
    "crowd-close": act(member.may_manage, **_thing(pk="source.pk")),
    # Without what the platform adds to it, the link opens nothing.
    "crowd-enter": page(
        LOGGED_IN,
        args=lambda w: {"token": crowd_token(w.mine.source)},
        foreign=lambda w: [{"token": "guessed"}],
        public=True,
        but={(method, role): 400 for method in ("GET", "POST") for role in ROLES},
    ),
    "returned": own(LOGGED_IN, public=True, SAFE=200),
    "return": form(
        member.may_return,
        # Annotators who came otherwise have nothing to return.
        but={(method, "ann"): 404 for method in ("GET", "HEAD", "POST")},
    ),
    "messages": form(message.may_read, {"body": "Hello."}),
    "messages-read": act(message.may_read, data=lambda w: {"up_to": w.mine.message.pk}),
    # --- Judging -------------------------------------------------------------------------------
    "judge": page(
        judgment.may_give,
        GET=200,
        POST=302,
        data=_choice,
        # Without consent: to the consent page.
        but=_fresh("GET", status=302),
        # The documented exception: opening the page claims a slot or renews its lease.
        changes={"GET", "POST"},
    ),
    "talk": page(
        judgment.may_give,
        SAFE=200,
        # Nobody talks in this study. Without consent: to the consent page.
        POST=409,
        data={"act": "begin"},
        but=_fresh("GET", "HEAD", "POST", status=302),
        inert={"POST"},
    ),
    "talk-setup": form(task.may_change, {"off": "1"}),
    "sets": form(
        judgment.may_give,
        # This study has no sets. Without consent: to the consent page.
        but=_fresh("GET", "HEAD", status=302),
        inert={"POST"},
    ),
    "skip": act(
        judgment.may_give,
        data=lambda w: {"slot": str(w.mine.slot.pk), "reason": "No idea."},
        # Somebody else's slot.
        but=_fresh("POST", status=404),
    ),
    "guideline": look(study.may_open),
    "mine": page(
        judgment.may_read_own,
        GET=200,
        POST=302,
        data=lambda w: {"slot": str(w.judged.pk), "text": "It repeats another one."},
        # Finn has judged nothing.
        but=_fresh("POST", status=404),
        # A read mark: the curators' answers were seen.
        changes={"GET", "POST"},
    ),
    "mine-download": look(judgment.may_read_own),
    "leave": page(judgment.may_read_own, {"choice": "withdraw"}, GET=200, POST=302),
    "tasks": form(task.may_change, _task),
    "remove": page(
        study.may_curate,
        args=lambda w: {"slug": w.tea.slug, "what": "batch", "key": str(w.mine.batch.pk)},
        foreign=lambda w: [{"slug": w.tea.slug, "what": "batch", "key": str(w.other.batch.pk)}],
        GET=200,
        POST=302,
    ),
    # It shows and takes answers, and stores nothing.
    "preview": page(
        task.may_change, **_thing(name="batch.task.name"), SAFE=200, POST=400, inert={"POST"}
    ),
    "preview-form": page(task.may_change, POST=200, inert={"POST"}),
    "open-batch": form(batch.may_change, **_thing(name="batch.task.name"), inert={"POST"}),
    "close-batch": act(batch.may_change, **_thing(batch="batch.pk")),
    "reopen-batch": act(batch.may_change, **_thing(batch="batch.pk")),
    "draft": page(
        judgment.may_give,
        POST=204,
        data=lambda w: {"slot": str(w.mine.slot.pk), "reason": "Half a thought."},
        # Somebody else's slot.
        but=_fresh("POST", status=404),
    ),
    "tour": page(
        judgment.may_give,
        GET=200,
        POST=302,
        # Without a task there is no tour.
        but={(method, role): 404 for method in ("GET", "POST") for role in ("fresh", "ann")},
        inert={"POST"},
    ),
    "beside": look(
        judgment.may_give, **_thing(slot="slot.pk"), but=_fresh("GET", "HEAD", status=404)
    ),
    "judge-sources": look(
        judgment.may_give,
        **_thing(slot="slot.pk"),
        # An annotator too, of other slots.
        but=_fresh("GET", "HEAD", status=404),
    ),
    "judged": page(
        judgment.may_give,
        args=lambda w: {"slug": w.tea.slug, "slot": w.judged.pk},
        foreign=lambda w: [{"slug": w.tea.slug, "slot": w.other.slot.pk}],
        GET=200,
        POST=302,
        data=_other_choice,
        but=_fresh("GET", "POST", status=404),
        # A read mark: the curators' answers were seen.
        changes={"GET", "POST"},
    ),
    "explained": look(
        judgment.may_give,
        args=lambda w: {"slug": w.tea.slug, "slot": w.trained.pk},
        foreign=lambda w: [{"slug": w.tea.slug, "slot": w.other.slot.pk}],
        # An annotator too, of other slots.
        but=_fresh("GET", "HEAD", status=404),
    ),
    "checks": form(check.may_change, {"pass_mark": 80, "gold_every": 20, "repeat_every": 30}),
    "check-make": form(
        check.may_change,
        {"purpose": "gold", "label": "1", "explanation": "So."},
        **_of_item("judged"),
    ),
    "check": form(check.may_change, {"label": "2", "explanation": "So."}, **_of_item("trained")),
    "check-retire": act(check.may_change, **_of_item("trained")),
    "adjudicate": look(judgment.may_adjudicate),
    "adjudicate-item": form(
        judgment.may_adjudicate, {"label": "2", "reason": "So."}, **_of_item("judged")
    ),
    "raters": look(rater.may_read),
    "rater": look(rater.may_read, **_rater()),
    "rater-pause": act(rater.may_sanction, {"sentence": "Wait."}, **_rater()),
    "rater-resume": act(rater.may_sanction, **_rater(), inert={"POST"}),
    "rater-exclude": act(rater.may_sanction, {"reason": "A bot."}, **_rater()),
    "rater-requalify": act(rater.may_sanction, **_rater()),
    "study": look(result.may_read),
    "overview": look(study.may_read),
    "items": form(
        batch.may_read,
        may={"POST": batch.may_change},
        data=lambda w: {"act": "close", "item": [w.judged.item.external_id]},
    ),
    "planner": look(result.may_read),
    # Without a task it shows the form again.
    "gap": page(run.may_read, SAFE=200, POST=200, inert={"POST"}, may={"POST": run.may_start}),
    # Nobody has judged such a task there.
    "gap-json": look(run.may_read),
    "gap-file": page(run.may_read, **_word("ending", task="none", ending="csv"), SAFE=404),
    "groups": page(result.may_read, **_word(task="none"), SAFE=404),
    "estimates": page(
        run.may_read,
        **_word(task="none"),
        SAFE=404,
        POST=404,
        inert={"POST"},
        may={"POST": batch.may_change},
    ),
    "gap-units": page(run.may_read, **_word(task="none"), SAFE=404),
    "comments": form(
        judgment.may_answer_comments,
        data=lambda w: {"slot": str(w.judged.pk), "text": "Thank you."},
    ),
    "rater-again": act(run.may_start, **_thing(run="rated.public_id")),
    "audit": look(result.may_read),
    "audit-open": act(batch.may_change, inert={"POST"}),
    "ratings": look(result.may_read, **_results()),
    "results": look(result.may_read, **_results()),
    "figure": look(result.may_read, **_figure()),
    "top-up": act(batch.may_change, **_results(), inert={"POST"}),
    "stop-early": act(task.may_change, {"below": "hard"}, **_results()),
    "result-item": look(result.may_read, **_result_item()),
    # --- Personas and queries ------------------------------------------------------------------
    "personas": form(persona.may_change, data=lambda w: {"file": _file(PERSONA)}),
    "attributes": act(persona.may_change, data=lambda w: {"attributes-file": _file(ATTRIBUTE)}),
    "persona-add": form(persona.may_change, {"external_id": "p9", "name": "Noa"}),
    "persona": form(persona.may_change, {"name": "Noa"}, **_thing(pk="persona.pk")),
    "persona-board": look(persona.may_change),
    "persona-pair": act(persona.may_change, inert={"POST"}),
    "persona-figure": look(persona.may_change, **_word("ending", name="gender", ending="csv")),
    "persona-split": page(persona.may_change, SAFE=200, POST=400, inert={"POST"}),
    "persona-drop": act(persona.may_change, {"reason": "stereotyped"}, **_thing(pk="persona.pk")),
    "persona-restore": act(persona.may_change, **_thing(pk="persona.pk"), inert={"POST"}),
    "persona-remember": act(persona.may_change, {"text": "A walk."}, **_thing(pk="persona.pk")),
    "persona-forget": act(persona.may_change, **_of_persona("memory")),
    "persona-times": act(persona.may_change, {"since": "2026-05-01"}, **_of_persona("attribute")),
    "examples": act(query.may_change, data=lambda w: {"examples-file": _file(EXAMPLE)}),
    "queries": form(query.may_change, data=lambda w: {"file": _file(QUERY)}),
    "query-add": form(query.may_change, {"external_id": "q9", **WORDS}),
    "query": form(query.may_change, WORDS, **_thing(pk="query.pk")),
    "owner-steps": look(query.may_write_own, but=_fresh("GET", "HEAD")),
    "own-queries": page(query.may_write_own, GET=200, POST=302, but=_fresh("GET", "POST")),
    "own-query": page(
        query.may_write_own,
        {"text": "Another question?", "want": "Much."},
        **_own(),
        GET=200,
        POST=302,
        but=_fresh("GET", "POST"),
    ),
    # Nothing has answered it: it needs no new version.
    "own-query-change": act(query.may_write_own, **_own(), inert={"POST"}, but=_fresh("POST")),
    "own-query-sessions": look(query.may_write_own, **_own(), but=_fresh("GET", "HEAD")),
    "gold": page(
        query.may_write_own,
        {"text": "The best answer."},
        **_own(),
        GET=200,
        POST=302,
        but=_fresh("GET", "POST"),
    ),
    # Without a gold response there is nothing to split.
    "gold-split": act(query.may_write_own, **_own(), inert={"POST"}, but=_fresh("POST")),
    "gold-rubric": act(query.may_write_own, {"text": "Calm."}, **_own(), but=_fresh("POST")),
    "sources": form(
        source.may_change, {"sources": ["documents"], "strategies": ["search"], "results": 6}
    ),
    "sources-upload": act(
        source.may_change, data=lambda w: {"file": SimpleUploadedFile("tea.md", b"# Tea")}
    ),
    "sources-clear": act(source.may_change, {"sure": "1"}),
    # --- Answers and releases ------------------------------------------------------------------
    # Whoever has a release asks it, member or not.
    "release-feed": look(
        set(),
        args=lambda w: {"pk": w.mine.release.public_id},
        foreign=lambda w: [{"pk": uuid4()}],
        public=True,
    ),
    "release-import": form(
        study.may_create,
        among=ANYWHERE,
        args=_none,
        data=lambda w: {"slug": "brought", "file": SimpleUploadedFile("r.zip", b"PK")},
        # There is nothing to hide: whoever runs no study may not make one.
        but={(method, "left"): 403 for method in ("GET", "HEAD", "POST")},
    ),
    "candidates": page(candidate.may_change, SAFE=200, POST=200, inert={"POST"}),
    "candidates-cancel": act(candidate.may_change, inert={"POST"}),
    "candidates-retry": act(candidate.may_change, inert={"POST"}),
    "generation": look(generation.may_run),
    # Nobody is in the pool, and nothing was extracted: a POST has nothing to take.
    "conversations": page(generation.may_run, SAFE=200, POST=400, inert={"POST"}),
    "conversations-histories": act(generation.may_run),
    "clusters": page(generation.may_run, SAFE=200, POST=400, inert={"POST"}),
    "verifier": page(generation.may_run, SAFE=200, POST=400, inert={"POST"}),
    "generation-rules": form(
        generation.may_run, {"reviewers": "2", "similarity": "0.9", "length_tolerance": "0.1"}
    ),
    # A name that is no step's is unknown; a form without texts is shown again.
    "step": page(generation.may_run, **_word(name="general"), SAFE=200, POST=400, inert={"POST"}),
    "run-stop": act(generation.may_run, **_thing(pk="run.pk")),
    "prompt": form(
        generation.may_run, {"system": "Judge.", "user": "{question}"}, **_word(name="general")
    ),
    "review": look(generation.may_run, **_word(kind="answer")),
    # Without a chosen row there is nothing to decide.
    "review-decide": act(generation.may_run, **_word(kind="answer"), inert={"POST"}),
    "imports": form(
        data_import.may_manage,
        data=lambda w: {"file": SimpleUploadedFile("mine.csv", b"prompt\nWhy?\n")},
    ),
    "import": form(data_import.may_manage, {"action": "cancel"}, **_thing(pk="data_import.pk")),
    "import-preview": act(data_import.may_manage, **_thing(pk="data_import.pk"), inert={"POST"}),
    "import-faults": look(data_import.may_manage, **_thing(pk="data_import.pk")),
    "releases": form(release.may_read, {"layout": "long"}, may={"POST": release.may_freeze}),
    "release-delete": form(release.may_delete, **_thing(version="release.version"), inert={"POST"}),
    # That its files left the server is noted.
    "release_download": look(
        release.may_read, **_thing(version="release.version"), changes={"GET"}
    ),
    "webhooks": form(
        webhook.may_manage, {"url": "https://example.org/hook", "events": ["item.complete"]}
    ),
    "webhook": act(webhook.may_manage, {"action": "pause"}, **_thing(pk="webhook.pk")),
    "webhook-message": act(webhook.may_manage, **_thing(pk="delivery.pk")),
    # --- Operations ---------------------------------------------------------------------------
    # A page that everybody may know of: 403 for whoever does not run the server.
    "operations": _operators(SAFE=200),
    "operations-accounts": _operators(SAFE=200),
    "operations-audit": _operators(SAFE=200),
    "operations-mail": _operators(POST=302, inert={"POST"}),
    "operations-job": _operators(
        args=lambda w: {"kind": "datasets.release", "pk": w.mine.release.pk},
        foreign=lambda w: [{"kind": "accounts.user", "pk": w.users["ann"].pk}],
        POST=302,
        inert={"POST"},
    ),
    "operations-account": _operators(
        args=lambda w: {"pk": w.users["ann"].pk},
        foreign=lambda w: [{"pk": 10**9}],
        POST=302,
        data={"act": "tokens", "sure": "1"},
    ),
    # No key is set here.
    "metrics": own(set(), public=True, SAFE=404),
    "models": form(
        run.may_read,
        {"endpoint": "none", "setting": "none", "confirmed": "1"},
        **_thing(version="release.version"),
        may={"POST": run.may_start},
    ),
    # The study's release is in a layout that no judge scores.
    "models-system": page(run.may_start, **_thing(version="release.version"), SAFE=404, POST=404),
    "models-again": act(
        run.may_start, **_thing(version="release.version", run="evaluated.public_id")
    ),
    "models-export": look(
        run.may_read,
        args=lambda w: {
            "slug": w.tea.slug,
            "version": w.mine.release.version,
            "name": "standings",
            "ending": "csv",
        },
        # The other study's releases begin with 1, too: a number that none has.
        foreign=lambda w: [
            {"slug": w.tea.slug, "version": 999, "name": "standings", "ending": "csv"}
        ],
    ),
    # --- API -----------------------------------------------------------------------------------
    # A zip as a form, which tests/datasets sends; a body of JSON is refused before all else.
    "api-release-imports": api(LOGGED_IN, args=_none, POST=415, inert={"POST"}),
    "api-release-import": api(set(), args=lambda w: {"pk": UPLOAD}, SAFE=404, refused=404),
    "api-root": api(LOGGED_IN, args=_none, SAFE=200),
    "api-studies": api(
        LOGGED_IN,
        args=_none,
        SAFE=200,
        POST=201,
        data={"slug": "newly-made", "title": "Newly made"},
        may={"POST": study.may_create},
        among=ANYWHERE,
        # There is nothing to hide: whoever runs no study may not make one.
        but={("POST", "left"): 403},
    ),
    "api-personas": api_rows(persona, lambda w: {"id": "p9", "profile": {"Name": "Ida"}}),
    "api-memories": api_rows(
        persona, lambda w: {"persona": _external(w, "persona"), "text": "Tea."}
    ),
    "api-queries": api_rows(query, lambda w: {"id": "q9", "text": "Which tea?"}),
    "api-candidates": api_rows(
        candidate, lambda w: {"id": "c9", "query": _external(w, "query"), "text": "Green tea."}
    ),
    "api-attributes": api_rows(
        persona, lambda w: {"id": "a9", "persona": _external(w, "persona"), "text": "Drinks tea."}
    ),
    "api-items": api_rows(
        batch,
        lambda w: {
            "id": "i9",
            "task": w.mine.batch.task.name,
            "query": _external(w, "query"),
            "candidates": list(
                w.tea.candidates.filter(query=w.mine.query).values_list("external_id", flat=True)
            )[: w.mine.batch.task.config["options"]],
        },
    ),
    "api-tasks": api(
        task.may_read,
        {"name": "nine", "kind": "relevance"},
        SAFE=200,
        POST=201,
        may={"POST": task.may_change},
    ),
    "api-clone": api(
        study.may_administer,
        {"title": "Again", "slug": "cloned", "parts": ["tasks"]},
        SAFE=200,
        POST=201,
    ),
    "api-survey": api(
        study.may_open,
        SURVEY,
        SAFE=200,
        PUT=200,
        POST=400,
        DELETE=204,
        may={"PUT": study.may_administer, "POST": judgment.may_give, "DELETE": judgment.may_give},
    ),
    "api-members": api(
        member.may_manage,
        SAFE=200,
        PUT=200,
        data=lambda w: {"email": w.mine.member.user.email, "role": "curator"},
    ),
    "api-invitations": api(member.may_manage, {"role": "annotator"}, SAFE=200, POST=201),
    "api-invitation": api(member.may_manage, **_thing(pk="invitation.pk"), DELETE=204),
    "api-removals": api(
        study.may_curate,
        POST=200,
        data=lambda w: {"what": "task", "id": w.mine.batch.task.name, "dry_run": True},
        inert={"POST"},
    ),
    "api-batches": api(
        batch.may_read,
        SAFE=200,
        POST=201,
        data=lambda w: {"task": w.mine.batch.task.name},
        may={"POST": batch.may_change},
    ),
    "api-generation": api(
        generation.may_run,
        {"step": "persona", "options": {"count": 1}, "dry_run": True},
        SAFE=200,
        POST=200,
        inert={"POST"},
    ),
    "api-run": api(
        generation.may_run, {"do": "cancel"}, **_thing(run="run.pk"), SAFE=200, POST=200
    ),
    "api-conversations": api(generation.may_run, SAFE=200, POST=400, inert={"POST"}),
    "api-conversations-histories": api(generation.may_run, POST=200),
    # A file of documents is a form's, not JSON.
    "api-documents": api(source.may_change, SAFE=200, POST=415, DELETE=200, inert={"POST"}),
    "api-attributes-make": api(generation.may_run, SAFE=200, POST=400, inert={"POST"}),
    # A model's file is a form's, not JSON.
    "api-attributes-verify": api(generation.may_run, SAFE=200, POST=415, inert={"POST"}),
    "api-persona-reviews": api(
        persona.may_change,
        SAFE=200,
        POST=200,
        data=lambda w: {"ids": [_external(w, "persona")], "reason": "stereotyped"},
    ),
    "api-persona-board": api(persona.may_change, SAFE=200),
    # There is one persona: no pair to decide on, and no decision to take back.
    "api-persona-pairs": api(
        persona.may_change,
        POST=400,
        DELETE=400,
        data=lambda w: {"personas": [_external(w, "persona")] * 2, "drop": None},
        inert={"POST", "DELETE"},
    ),
    "api-persona-split": api(persona.may_change, {"benchmark": 1}, SAFE=200, POST=200),
    "api-early-stop": api(task.may_change, {"below": "hard"}, **_results(), SAFE=200, PUT=200),
    "api-checks": api(check.may_change, {"retest_number": 3}, SAFE=200, PUT=200),
    "api-review": api(
        generation.may_run,
        SAFE=200,
        POST=200,
        data=lambda w: {"kind": "answer", "ids": [str(w.mine.candidate.pk)], "accepts": True},
        inert={"POST"},
    ),
    # Nobody has decided on the answer.
    "api-review-undo": api(
        generation.may_run,
        POST=200,
        data=lambda w: {"kind": "answer", "ids": [str(w.mine.candidate.pk)]},
        inert={"POST"},
    ),
    "api-generation-rules": api(
        generation.may_run, {"rules": {"reviewers": 2}, "budget": {"cost": "5"}}, SAFE=200, PUT=200
    ),
    "api-batch-close": api(batch.may_change, **_thing(batch="batch.pk"), POST=204),
    "api-batch-reopen": api(batch.may_change, **_thing(batch="batch.pk"), POST=204),
    "api-study": api(
        study.may_open,
        {"title": "Another"},
        SAFE=200,
        PATCH=200,
        DELETE=200,
        may=dict.fromkeys(("PATCH", "DELETE"), study.may_administer),
    ),
    "api-claim": api(judgment.may_give, POST=200, but=_fresh("POST")),
    "api-sets": api(
        judgment.may_give,
        {"set": None},
        SAFE=200,
        POST=200,
        inert={"POST"},
        but=_fresh("GET", "HEAD", "POST"),
    ),
    "api-own-queries": api(
        query.may_write_own,
        {"text": "What now?"},
        SAFE=200,
        POST=201,
        but=_fresh("GET", "HEAD", "POST"),
    ),
    "api-own-query": api(
        query.may_write_own,
        {"text": "Another question?", "guide": {"want": "Much."}},
        **_own(),
        SAFE=200,
        PUT=200,
        but=_fresh("GET", "HEAD", "PUT"),
    ),
    "api-own-gold": api(
        query.may_write_own,
        {"text": "The best answer."},
        **_own(),
        SAFE=200,
        POST=200,
        but=_fresh("GET", "HEAD", "POST"),
    ),
    "api-judgments": api(judgment.may_read, SAFE=200),
    "api-judgment": api(
        judgment.may_give,
        args=_slot,
        foreign=lambda w: [{"pk": w.other.slot.pk}, {"pk": w.bo_slot.pk}],
        refused=404,
        POST=201,
        data=_choice,
        # Asked for consent before anything is looked at.
        but=_fresh("POST"),
    ),
    "api-release": api(
        judgment.may_give,
        args=_slot,
        foreign=lambda w: [{"pk": w.other.slot.pk}, {"pk": w.bo_slot.pk}],
        refused=404,
        POST=204,
        # Somebody else's slot.
        but=_fresh("POST", status=404),
    ),
    "api-releases": api(
        release.may_read, {"layout": "long"}, SAFE=200, POST=202, may={"POST": release.may_freeze}
    ),
    "api-release-status": api(
        release.may_read, **_release(), SAFE=200, DELETE=204, may={"DELETE": release.may_delete}
    ),
    # That its files left the server is noted.
    "api-release-download": api(release.may_read, **_release(), SAFE=200, changes={"GET"}),
    # Without a task.
    "api-estimates": api(run.may_read, SAFE=400),
    "api-groups": api(result.may_read, SAFE=400),
    # No endpoint is configured.
    "api-live": api(task.may_change, {"tasks": ["best"]}, SAFE=200, PUT=400, DELETE=204),
    "api-draws": api(
        run.may_read,
        {"task": "none", "votes": 2},
        SAFE=200,
        POST=400,
        may={"POST": batch.may_change},
    ),
    "api-model-raters": api(
        run.may_read,
        {"task": "best", "endpoint": "none"},
        SAFE=200,
        POST=202,
        may={"POST": run.may_start},
    ),
    "api-evaluations": api(
        run.may_read,
        {"endpoint": "none", "setting": "none"},
        **_release(),
        SAFE=200,
        POST=202,
        may={"POST": run.may_start},
    ),
    "api-evaluation": api(
        run.may_read,
        args=lambda w: {"pk": w.mine.evaluated.public_id},
        foreign=lambda w: [{"pk": w.other.evaluated.public_id}],
        SAFE=200,
    ),
    "api-own-claims": api(
        query.may_write_own,
        **_own(),
        SAFE=200,
        # Without a gold response there is nothing to split.
        POST=400,
        inert={"POST"},
        but=_fresh("GET", "HEAD", "POST"),
    ),
    "api-own-rubric": api(
        query.may_write_own,
        {"text": "Short and calm."},
        **_own(),
        SAFE=200,
        POST=201,
        but=_fresh("GET", "HEAD", "POST"),
    ),
    "api-prompts": api(generation.may_run, SAFE=200),
    "api-prompt": api(
        generation.may_run,
        {"system": "Answer.", "user": "{question}"},
        **_word(name="plain"),
        SAFE=200,
        PUT=200,
    ),
    "api-retrieval": api(
        source.may_change, {"sources": ["history"], "strategies": ["search"]}, SAFE=200, PUT=200
    ),
    "api-sessions": api(
        LOGGED_IN,
        args=_none,
        SAFE=200,
        POST=200,
        data=lambda w: {"state": "kept", "ids": [str(w.mine.history.session.pk)]},
        # Another's session is not changed, and is not told apart from one that is not there.
        inert={"POST"},
    ),
    "api-history-uses": api(
        LOGGED_IN,
        args=_none,
        SAFE=200,
        POST=200,
        data=lambda w: {"study": w.tea.slug, "purpose": "show_to_judges", "allowed": True},
        # Only a member knows of the study, and only one who agreed to it allows something.
        but={("POST", role): 404 for role in (*STRANGERS, "site")} | _fresh("POST", status=400),
    ),
    "api-histories": api(LOGGED_IN, {"size": 5}, args=_none, POST=202),
    # A piece is bytes, not JSON.
    "api-provenances": api(candidate.may_read, SAFE=200),
    "api-imports": api(data_import.may_manage, {"name": "mine.csv", "size": 9}, SAFE=200, POST=202),
    "api-import": api(
        data_import.may_manage, **_thing(pk="data_import.pk"), SAFE=200, PATCH=415, DELETE=204
    ),
    "api-import-start": api(data_import.may_manage, _none, **_thing(pk="data_import.pk"), POST=202),
    "api-history": api({"ann"}, **_history("upload"), SAFE=200, PATCH=415),
    "api-schema": api(LOGGED_IN, args=_none, SAFE=200),
    # A page for people: to the login, not 401.
    "api-docs": own(LOGGED_IN, SAFE=200),
}
