"""All settings. Values come from the environment; docs/operators.md lists them.

The embedded services of `manage.py up` write their addresses to ``var/run/services.json``; a value
in the environment always wins over that file.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse_lazy
from django.utils.functional import SimpleLazyObject

from annotation.environment import Environment
from annotation.local.folders import read_or_create
from annotation.product import FILES, HOME, PACKAGE, __version__

VERSION = __version__
BASE_DIR = FILES
env = Environment()


DATA = Path(os.environ.get("ATTUNE_DATA") or HOME / "var").absolute()


def _services() -> dict:
    """Addresses of the embedded services, or nothing when they have not been started."""
    try:
        return json.loads((DATA / "run" / "services.json").read_text())
    except (FileNotFoundError, ValueError):  # a damaged one is made anew by `up`
        return {}
    except OSError as error:
        raise ImproperlyConfigured(f"ATTUNE_DATA cannot be used: {error}") from error


SERVICES = _services()


def _endpoints(embedded: list[dict]) -> list:
    """Configured model servers; ``{"embedded": true}`` among them stands for the laptop's own."""
    entries = env.objects("ATTUNE_ENDPOINTS") or embedded
    if not isinstance(entries, list):
        return entries  # candidates.endpoints names the fault
    defaults = embedded[0] if embedded else {"name": "embedded"}
    return [
        defaults | entry
        if isinstance(entry, dict) and entry.get("embedded") is True and "base_url" not in entry
        else entry
        for entry in entries
    ]


def _database(url: str) -> dict:
    """A Django database from ``postgresql://user:password@host:port/name?host=/socket/folder``."""
    try:
        parts = urlsplit(url)
        port = parts.port or ""
    except ValueError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is no address: {error}.") from error
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must start with postgresql://")
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    settings = {
        "statement_timeout": env.int("ATTUNE_STATEMENT_TIMEOUT_MS", 0),
        "lock_timeout": env.int("ATTUNE_LOCK_TIMEOUT_MS", 0),
        "idle_in_transaction_session_timeout": env.int("ATTUNE_IDLE_TIMEOUT_MS", 0),
        # What core.sql prepares costs more to plan than to run: planned once a connection.
        "plan_cache_mode": "force_generic_plan",
    }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", parts.hostname or ""),
        "PORT": port,
        # A new connection plans the statements of core.sql anew: the time of ten judgments.
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
            "connect_timeout": 5,
            # A server that is gone without a word is noticed within seconds (TCP only).
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
            # At their first run, for the statements of core.sql; the ORM's are never prepared.
            "prepare_threshold": 0,
            **query,
        },
    }


def _log_in_server() -> dict | None:
    """The OpenID Connect provider of ATTUNE_OIDC_*, as allauth has it; None where none is set."""
    names = ("URL", "CLIENT_ID", "SECRET")
    values = {name: env.str(f"ATTUNE_OIDC_{name}") for name in names}
    if not any(values.values()):
        return None
    if missing := [f"ATTUNE_OIDC_{name}" for name, value in values.items() if not value]:
        raise ImproperlyConfigured(f"OpenID Connect also needs {' and '.join(missing)}.")
    address = env.address("ATTUNE_OIDC_URL", "")
    if urlsplit(address).scheme != "https" and urlsplit(address).hostname not in LOOPBACK:
        raise ImproperlyConfigured("ATTUNE_OIDC_URL must begin with https://.")
    return {
        "provider_id": "main",
        "name": env.str("ATTUNE_OIDC_NAME", urlsplit(address).hostname or ""),
        "client_id": values["CLIENT_ID"],
        "secret": values["SECRET"],
        "settings": {"server_url": address},
    }


def _retry_once() -> object:
    """How the cache's client retries; commands that never ask the cache never import redis."""
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return Retry(NoBackoff(), 1)


def _object_store(bucket: str) -> dict:
    """Django's storage for ``bucket``; without keys boto3 looks for them where it usually does."""
    if not find_spec("storages"):
        raise ImproperlyConfigured(
            "ATTUNE_S3_BUCKET needs the extra: pip install 'attune-platform[server]'."
        )
    names = {"ENDPOINT": "endpoint_url", "REGION": "region_name",
             "ACCESS_KEY": "access_key", "SECRET_KEY": "secret_key"}  # fmt: skip
    values = {option: env.str(f"ATTUNE_S3_{name}") for name, option in names.items()}
    if values["endpoint_url"]:
        env.address("ATTUNE_S3_ENDPOINT", "")
    if bool(values["access_key"]) != bool(values["secret_key"]):
        sentence = "ATTUNE_S3_ACCESS_KEY and ATTUNE_S3_SECRET_KEY belong together: set both."
        raise ImproperlyConfigured(sentence)
    options: dict[str, object] = {option: value for option, value in values.items() if value}
    # Every file is streamed through us: nobody gets an address of the store.
    options |= {"bucket_name": bucket, "file_overwrite": True, "default_acl": None}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def _mail_server(url: str) -> dict:
    """Django's settings of a mail server from ``smtp+tls://user:password@host:587``."""
    try:
        return env.email_url_config(url)
    except (KeyError, ValueError, ImproperlyConfigured) as error:
        sentence = "ATTUNE_EMAIL_URL must look like smtp+tls://user:password@host:587."
        raise ImproperlyConfigured(sentence) from error


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


LOOPBACK = ("127.0.0.1", "localhost", "::1")

# --- The installation -----------------------------------------------------------------------

PORT = env.int("PORT", 8000, low=1, high=65535)
BASE_URL = env.address("ATTUNE_BASE_URL", f"http://127.0.0.1:{PORT}")
HTTPS = urlsplit(BASE_URL).scheme == "https"
DEBUG = False
SECRET_KEY = env.str("ATTUNE_SECRET_KEY") or read_or_create(DATA / "secrets" / "secret_key")
SECRET_KEY_FALLBACKS = env.list("ATTUNE_SECRET_KEY_FALLBACKS", default=[])

# A server behind a proxy has one public name; the loopback names serve the laptop and the probes.
ALLOWED_HOSTS = [
    urlsplit(BASE_URL).hostname,
    "127.0.0.1",
    "localhost",
    "[::1]",
    *env.list("ATTUNE_ALLOWED_HOSTS", default=[]),
]
CSRF_TRUSTED_ORIGINS = [BASE_URL, *env.list("CSRF_TRUSTED_ORIGINS", default=[])]
CSRF_FAILURE_VIEW = "annotation.core.views.csrf_failure"
# How many proxies of ours stand in front. 0: X-Forwarded-* headers are ignored altogether.
PROXY_COUNT = env.int("ATTUNE_PROXY_COUNT", 0, low=-9, high=99)
if PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

DATABASE_URL = env.str("DATABASE_URL") or SERVICES.get("DATABASE_URL", "")
REDIS_URL = env.redis("REDIS_URL") or SERVICES.get("REDIS_URL", "")
# Without an address nothing may be found by chance: no server listens in this folder.
NOWHERE = "postgresql:///attune?host=/nonexistent"
DATABASES = {"default": _database(DATABASE_URL or NOWHERE)}
if REPLICA_URL := env.str("ATTUNE_REPLICA_URL"):
    DATABASES["replica"] = _database(REPLICA_URL) | {"TEST": {"MIRROR": "default"}}
    DATABASE_ROUTERS = ["annotation.core.middleware.Router"]
# Pages of results do not read a copy that is older.
REPLICA_MAX_SECONDS = env.int("ATTUNE_REPLICA_MAX_SECONDS", 60, low=1)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Hours for which a job goes on as long as a model server asks for patience (Retry-After).
GENERATION_HOURS = env.int("ATTUNE_GENERATION_HOURS", 24)
# Model servers: [{"name", "base_url", "api_key", "model", ...}]. Only these are ever called.
# A SearXNG-compatible address for the web source of search-augmented answers; "" means none.
SEARCH_URL = env.str("ATTUNE_SEARCH_URL", "")
ENDPOINTS = _endpoints(SERVICES.get("ATTUNE_ENDPOINTS", []))

# --- Applications ---------------------------------------------------------------------------

# Forms are rendered by templates/django/forms where the project has a template of its own.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
# Each has a folder, which may hold commands, too.
PAPERS = sorted(path.parent.name for path in PACKAGE.glob("papers/*/paper.py"))
OIDC = _log_in_server()
INSTALLED_APPS = [
    "django.forms",
    *(f"django.contrib.{name}" for name in ("auth", "contenttypes", "sessions", "messages")),
    *(f"django.contrib.{name}" for name in ("staticfiles", "postgres")),
    *("allauth", "allauth.account", "allauth.mfa", "allauth.usersessions"),
    "allauth.socialaccount",
    # It imports requests: five megabytes of each process.
    *(["allauth.socialaccount.providers.openid_connect"] if OIDC else []),
    "csp",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    *(
        f"annotation.{name}"
        for name in (
            *("core", "local", "accounts", "studies", "histories", "personas", "queries"),
            *("candidates", "judging", "agreement", "datasets", "imports", "evaluation", "live"),
            *("papers", *(f"papers.{name}" for name in PAPERS)),
            *("webhooks", "overview", "api", "operations"),
        )
    ),
]

TELEMETRY = bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))
MIDDLEWARE = [
    "annotation.core.middleware.request_id",
    *(["annotation.core.telemetry.traced"] if TELEMETRY else []),
    "annotation.operations.metrics.counted",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "annotation.core.middleware.private_by_default",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotation.accounts.sessions.note_use",
    "annotation.core.middleware.persons_language",
    "annotation.core.middleware.Refusals",
    "annotation.core.middleware.LoginRequired",
    "annotation.studies.adapter.SecondFactor",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    *(["annotation.core.middleware.Replica"] if REPLICA_URL else []),
]

ROOT_URLCONF = "annotation.urls"
WSGI_APPLICATION = "annotation.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # A type of question is one folder, its template too.
        "DIRS": [BASE_DIR / "templates", PACKAGE],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": [
                "annotation.core.templatetags.attune",
                "annotation.studies.templatetags.study_texts",
            ],
        },
    }
]

# --- Accounts -------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS: list[dict] = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator", "OPTIONS": options}
    for name, options in (
        ("MinimumLength", {"min_length": 10}),
        ("UserAttributeSimilarity", {}),
        ("CommonPassword", {}),
    )
]
ACCOUNT_ADAPTER = "annotation.studies.adapter.InvitedOnly"
ACCOUNT_FORMS = {
    "reset_password": "annotation.accounts.forms.ResetForm",
    "signup": "annotation.accounts.forms.SignUp",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
# Nobody learns who has an account. With a mail server the address tells its owner; without one a
# second account may list the address, unconfirmed (accounts.forms).
EMAIL_URL = env.str("ATTUNE_EMAIL_URL")
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if EMAIL_URL else "optional"
ACCOUNT_PREVENT_ENUMERATION = True if EMAIL_URL else "strict"
# Changes of addresses and second factors ask for the password, and are told to the old address.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Attune] "
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
ALLAUTH_TRUSTED_PROXY_COUNT = PROXY_COUNT
# Ours beside allauth's own. A class behind one address types at the same moment; a code of 40 bits
# still outlasts this rate by thousands of years.
ACCOUNT_RATE_LIMITS = {"join_code": "300/10m/ip", "crowd_enter": "300/10m/ip"}
# Whether whoever does more than annotate needs a second factor: yes where others can reach us.
PUBLIC = urlsplit(BASE_URL).hostname not in LOOPBACK
REQUIRE_MFA = env.bool("ATTUNE_REQUIRE_MFA", PUBLIC)
MFA_ADAPTER = "annotation.accounts.adapter.SealedSecrets"
MFA_SUPPORTED_TYPES = ["webauthn", "totp", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
# A class behind one address; a passkey is nothing to guess.
MFA_RATE_LIMITS = {"webauthn_login": "300/10m/ip"}
MFA_FORMS = {
    "add_webauthn": "annotation.accounts.forms.AddPasskey",
    "login_webauthn": "annotation.accounts.forms.PasskeyLogIn",
    "authenticate_webauthn": "annotation.accounts.forms.PasskeyAuthenticate",
    "reauthenticate_webauthn": "annotation.accounts.forms.PasskeyReauthenticate",
}
# Browsers offer passkeys on plain HTTP for this one name.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = urlsplit(BASE_URL).hostname == "localhost"
MFA_TOTP_ISSUER = "Attune"
# allauth remembers a used code for one period: with a tolerance it could be used again after it.
MFA_TOTP_TOLERANCE = 0
# People come by invitation; without a mail server no address could be confirmed.
MFA_ALLOW_UNVERIFIED_EMAIL = True
# A log-in server of the organisation's. It opens the account of an address that it confirmed;
# others come by invitation as anybody does, unless its people are all let in.
OIDC_OPENS_ACCOUNTS = env.bool("ATTUNE_OIDC_OPENS_ACCOUNTS", False)
SOCIALACCOUNT_PROVIDERS: dict[str, dict] = {
    "openid_connect": {"APPS": [OIDC] if OIDC else [], "OAUTH_PKCE_ENABLED": True}
}
SOCIALACCOUNT_ADAPTER = "annotation.studies.adapter.LogInServer"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
LOGIN_URL = reverse_lazy("account_login")
LOGIN_REDIRECT_URL = "home"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"

# --- The browser ----------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        **{key: [NONE] for key in ("default-src", "base-uri", "frame-ancestors", "object-src")},
        **{f"{kind}-src": [SELF] for kind in ("script", "style", "img", "font", "connect")},
        # A form that leads on to the log-in server counts as sent there.
        "form-action": [SELF, *([_origin(OIDC["settings"]["server_url"])] if OIDC else [])],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = HTTPS
# The probes speak plain HTTP from inside.
SECURE_REDIRECT_EXEMPT = [r"^health/"]
SECURE_HSTS_SECONDS = env.int("ATTUNE_HSTS_SECONDS", 31_536_000) if HTTPS else 0
# Other names below the host may be served by others: promised for them only where asked.
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS and env.bool("ATTUNE_HSTS_SUBDOMAINS", False)
SECURE_HSTS_PRELOAD = HTTPS and env.bool("ATTUNE_HSTS_PRELOAD", False)
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
# Browsers refuse the __Host- prefix on plain HTTP, where only the laptop is served.
SESSION_COOKIE_NAME = "__Host-session" if HTTPS else "attune-session"
CSRF_COOKIE_NAME = "__Host-csrf" if HTTPS else "attune-csrf"
BROWSER_COOKIE_NAME = "__Host-browser" if HTTPS else "attune-browser"
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA / "static"
# The list of all files lies elsewhere: what is in STATIC_ROOT is served.
STATIC_MANIFEST = DATA / "run"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "documents": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": DATA / "documents"},
    },
    "staticfiles": {"BACKEND": "annotation.core.made.PrivateManifestStorage"},
}

# Files that several machines need, in an S3-compatible store instead of one shared folder.
S3_BUCKET = env.str("ATTUNE_S3_BUCKET")
if S3_BUCKET:
    _s3 = _object_store(S3_BUCKET)
    STORAGES["shared"] = _s3
    STORAGES["documents"] = _s3 | {"OPTIONS": _s3["OPTIONS"] | {"location": "documents"}}

# Maps are for whoever reads vendored scripts: packing them takes seconds at the first start.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (
    *("jpg", "jpeg", "png", "gif", "webp", "zip", "gz", "tgz", "bz2", "tbz", "xz", "br"),
    *("woff", "woff2", "map"),
)

# --- Languages and time ---------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文"), ("ko", "한국어"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_NAME = "__Host-language" if HTTPS else "attune-language"
LANGUAGE_COOKIE_AGE = 365 * 86_400
FORMAT_MODULE_PATH = ["annotation.formats"]
# A sign between thousands would stand in ids and form fields too.
USE_THOUSAND_SEPARATOR = False
TIME_ZONE = "UTC"
USE_TZ = True

# --- Mail, cache, broker --------------------------------------------------------------------

if EMAIL_URL:
    vars().update(_mail_server(EMAIL_URL))
else:
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = DATA / "mail"
DEFAULT_FROM_EMAIL = env.str("ATTUNE_FROM_EMAIL", "attune@localhost")

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL or "redis://127.0.0.1:1/0",
        "TIMEOUT": 300,
        "OPTIONS": {
            "socket_connect_timeout": 2,
            "socket_timeout": 2,
            "retry": SimpleLazyObject(_retry_once),
        },
    }
}

# kombu spells a socket path redis+socket://; the redis package spells it unix://.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://").replace(
    "?db=", "?virtual_host="
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Notices and webhooks are short and have a worker of their own; the others take minutes. A worker
# that is given no names takes tasks of all queues, in turn.
CELERY_TASK_DEFAULT_QUEUE = "notices"
_QUEUES = {
    "notices": [],
    "webhooks": ["webhooks.tasks.send"],
    "imports": [
        "candidates.tasks.read_documents",
        "datasets.tasks.import_upload",
        "histories.tasks.read_upload",
        "imports.tasks.carry_out",
    ],
    "generation": ["candidates.tasks.write", "evaluation.tasks.work"],
    "results": [
        "agreement.tasks.recompute_due",
        "evaluation.tasks.draw_further",
        "histories.tasks.look_again",
        "histories.tasks.rewrite_tables",
        "judging.tasks.go_on_with_own_queries",
    ],
    "releases": ["datasets.tasks.build", "operations.tasks.back_up"],
}
CELERY_TASK_QUEUES = {queue: {} for queue in _QUEUES}
CELERY_TASK_ROUTES = {
    f"annotation.{task}": {"queue": queue} for queue, tasks in _QUEUES.items() for task in tasks
}
# So many jobs of a kind (imports, releases, runs of models) of one study, or of one person where
# they belong to none, are carried out at once; the others wait for their turn.
JOBS_AT_ONCE = env.int("ATTUNE_JOBS_AT_ONCE", 1, low=1)
# Pools of calls to models, in all workers together; each makes up to 32 calls at once.
GENERATION_POOLS = env.int("ATTUNE_GENERATION_POOLS", 1, low=1)
CELERY_TASK_SOFT_TIME_LIMIT = 540
CELERY_TASK_TIME_LIMIT = 600
# More than three times the longest limit of a task: a task that runs is not given out again.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 10_800, "socket_timeout": 5}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.1}
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 30
CELERY_TIMEZONE = "UTC"
# Name: (task, seconds, whether a turn that was missed is left out: looking once is enough).
_TURNS = {
    "heartbeat": ("core.tasks.beat", 15, False),
    "pull-gold": ("judging.tasks.pull_gold", 10, False),
    "go-on-with-own-queries": ("judging.tasks.go_on_with_own_queries", 15, True),
    "expire-leases": ("judging.tasks.expire_leases", 30, False),
    "notify-of-candidates": ("candidates.tasks.notify_due", 20, False),
    "erase-from-candidates": ("candidates.tasks.erase_withdrawn", 30, False),
    "remove-withdrawn": ("judging.tasks.remove_withdrawn", 30, False),
    "notify-of-histories": ("histories.tasks.notify_uploads", 20, False),
    "look-again-for-personal-data": ("histories.tasks.look_again", 60, True),
    "remind-of-histories": ("histories.tasks.remind", 3600, True),
    "rewrite-histories": ("histories.tasks.rewrite_tables", 3600, True),
    "notify-of-imports": ("imports.tasks.notify_due", 20, False),
    "import-releases": ("datasets.tasks.import_uploads", 30, False),
    "notify-of-releases": ("datasets.tasks.notify_due", 20, False),
    "notify-of-evaluations": ("evaluation.tasks.notify_due", 20, False),
    "draw-further-items": ("evaluation.tasks.draw_further", 60, True),
    "webhooks": ("webhooks.tasks.collect", 10, True),
    "back-up": ("operations.tasks.back_up", 600, False),
    "recompute-agreement": ("agreement.tasks.recompute_due", 10, True),
}
CELERY_BEAT_SCHEDULE = {
    name: {"task": f"annotation.{task}", "schedule": seconds}
    | ({"options": {"expires": seconds}} if once else {})
    for name, (task, seconds, once) in _TURNS.items()
}

# --- Webhooks -------------------------------------------------------------------------------

# Origins (https://host:port) of webhooks that may lie in a private network, or be plain http.
WEBHOOK_ORIGINS = env.list("ATTUNE_WEBHOOK_ORIGINS", default=[])
# A webhook's call takes at most so long in all; its task is ended after 25.
WEBHOOK_SECONDS = env.int("ATTUNE_WEBHOOK_SECONDS", 10, low=1, high=20)

# --- API ------------------------------------------------------------------------------------

# Calls a minute with one token, and from one address; 0 is no limit.
API_TOKEN_RATE = env.int("ATTUNE_API_TOKEN_RATE", 1200, low=0)
API_ADDRESS_RATE = env.int("ATTUNE_API_ADDRESS_RATE", 6000, low=0)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotation.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    # Closed: a view that names no permission answers nobody.
    "DEFAULT_PERMISSION_CLASSES": ["annotation.api.authentication.Nobody"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["annotation.api.http.StrictJSONParser"],
    "DEFAULT_PAGINATION_CLASS": "annotation.api.http.Cursor",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "annotation.api.http.handle",
    # OPTIONS describes nothing: the schema does.
    "DEFAULT_METADATA_CLASS": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Attune",
    "DESCRIPTION": "Judgments of how well an answer fits one person: hand-out, submission, export.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    # Several calls have a field "kind" or "status", each with words of its own.
    "ENUM_NAME_OVERRIDES": {
        "JudgmentKindEnum": "annotation.api.judging.KIND_NAMES",
        "GenerationStepEnum": "annotation.api.generation.STEP_NAMES",
        "StudyRoleEnum": "annotation.studies.models.Role",
        "StudyStatusEnum": "annotation.studies.models.Study.Status",
        "JobStatusEnum": "annotation.core.jobs.Job.Status",
        "ImportStatusEnum": "annotation.imports.models.DataImport.Status",
    },
}

# --- Histories ------------------------------------------------------------------------------

HISTORY_MAX_BYTES = env.int("ATTUNE_HISTORY_MAX_MB", 2048, low=1) * 2**20
IMPORT_MAX_BYTES = env.int("ATTUNE_IMPORT_MAX_MB", 2048, low=1) * 2**20
# What one foreign table may take of the process that reads it.
IMPORT_MEMORY_BYTES = env.int("ATTUNE_IMPORT_MEMORY_MB", 1024, low=64) * 2**20
IMPORT_SECONDS = env.int("ATTUNE_IMPORT_SECONDS", 1200, low=10)
IMPORT_CELLS = env.int("ATTUNE_IMPORT_CELLS", 200_000_000, low=1)
IMPORT_COLUMNS = env.int("ATTUNE_IMPORT_COLUMNS", 1000, low=1)
IMPORT_CELL_LENGTH = env.int("ATTUNE_IMPORT_CELL_LENGTH", 1_000_000, low=1000)
IMPORT_UNPACKED_BYTES = env.int("ATTUNE_IMPORT_UNPACKED_MB", 4096, low=1) * 2**20

# --- Judging --------------------------------------------------------------------------------

LEASE_MINUTES = env.int("ATTUNE_LEASE_MINUTES", 30, low=1)

# --- Operations -----------------------------------------------------------------------------

# Without a key nobody fetches metrics.
METRICS_KEY = env.str("ATTUNE_METRICS_KEY")
METRICS_FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
# Beat backs up into this folder, every so many hours; 0 is never.
BACKUP_FOLDER = Path(env.str("ATTUNE_BACKUP_FOLDER", str(DATA / "backups")))
BACKUP_HOURS = env.int("ATTUNE_BACKUP_HOURS", 0, high=24 * 31)
BACKUP_RECIPIENT = env.str("ATTUNE_BACKUP_RECIPIENT")
BACKUP_KEEP = env.int("ATTUNE_BACKUP_KEEP", 7, low=1)

# --- How long things stay --------------------------------------------------------------------

# Days after the last change of a draft, the end of an invitation or a session, a webhook's message,
# and an API call whose key may come again. What is not here stays until its person erases it.
KEEP_DAYS = {
    "drafts": env.int("ATTUNE_KEEP_DRAFT_DAYS", 365, low=1),
    "invitations": env.int("ATTUNE_KEEP_INVITATION_DAYS", 90, low=1),
    "sessions": 1,
    "webhooks": env.int("ATTUNE_KEEP_WEBHOOK_DAYS", 30, low=1),
    "calls": env.int("ATTUNE_KEEP_CALL_DAYS", 90, low=1),
}

LOG_JSON = env.str("ATTUNE_LOG_FORMAT", "text") == "json"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"context": {"()": "annotation.core.logs.Context"}},
    "formatters": {"line": {"()": f"annotation.core.logs.{'Json' if LOG_JSON else 'Line'}"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["context"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        # Django's own handlers would write a second line, for debugging.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "httpx2": {"level": "WARNING"},
        # Celery prints task arguments at INFO; ours are ids, and the rows tell the rest.
        "celery.app.trace": {"level": "WARNING"},
        # A line for each task received is five megabytes a day of an idle worker.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
