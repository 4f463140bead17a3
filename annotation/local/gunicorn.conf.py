"""How gunicorn serves Attune; what is given on its command line wins over this file."""

import gc
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gunicorn.config import Config
from gunicorn.glogging import Logger

from annotation.core.logs import Context, masked
from annotation.product import HOME


class AccessLog(Logger):
    """Gunicorn's log without what would identify a person or open an account."""

    def atoms(self, resp: Any, req: Any, environ: dict, request_time: Any) -> dict:
        """Return the values of one line, with the keys in the path masked."""
        values = super().atoms(resp, req, environ, request_time)
        # Written as it came over the line: a decoded line end would forge a line of the log.
        path = quote(environ.get("PATH_INFO", "").encode("latin-1"))
        values["U"] = masked(path)
        return values

    def setup(self, cfg: Config) -> None:
        """Mask the keys in gunicorn's messages about broken requests, too."""
        super().setup(cfg)
        self.error_log.addFilter(Context())


_data = Path(os.environ.get("ATTUNE_DATA") or HOME / "var")

# Each process counts in files of its own; they begin empty with the server.
METRICS = _data / "run" / "metrics"
shutil.rmtree(METRICS, ignore_errors=True)
METRICS.mkdir(mode=0o700, parents=True)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS)

wsgi_app = "annotation.wsgi"
bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
worker_class = "gthread"
workers = int(os.environ.get("ATTUNE_WEB_PROCESSES") or 2)
threads = int(os.environ.get("ATTUNE_WEB_THREADS") or 4)
# One import for all of them, and a killed one is back at once; a single one would share nothing.
preload_app = workers > 1
timeout = 60


# A page never waits long for the database; commands and workers may (settings._database).
_LIMITS = {
    "ATTUNE_STATEMENT_TIMEOUT_MS": "-c statement_timeout=15000",
    "ATTUNE_LOCK_TIMEOUT_MS": "-c lock_timeout=3000",
    "ATTUNE_IDLE_TIMEOUT_MS": "-c idle_in_transaction_session_timeout=30000",
}


def post_fork(server: object, worker: object) -> None:
    """Limit the process's sessions of the database."""
    from django.conf import settings

    limits = [limit for name, limit in _LIMITS.items() if not os.environ.get(name)]
    options = settings.DATABASES["default"]["OPTIONS"]
    options["options"] = " ".join([options["options"], *limits])  # the last one counts


def when_ready(server: object) -> None:
    """Share what is imported by now with the processes: the collector's marks would unshare it."""
    gc.collect()
    gc.freeze()


graceful_timeout = 10
umask = 0o077
control_socket_disable = True
secure_scheme_headers: dict[str, str] = {}  # Django alone decides which proxy to believe.
logger_class = AccessLog
accesslog = "-"
# No address and no query.
access_log_format = '%(t)s "%(m)s %(U)s" %(s)s %(B)s bytes %(M)s ms %({x-request-id}o)s'
