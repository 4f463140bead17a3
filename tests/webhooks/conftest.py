import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from annotation.judging.work import queue, submit
from annotation.webhooks import deliver


class Receiver:
    """A server that keeps what it is sent and answers with the statuses it was given, then 200."""

    def __init__(self):
        self.requests, self.statuses = [], []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((dict(self.headers), body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.end_headers()

            def log_message(self, *args):
                """Nothing on stderr."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def receiver(settings):
    receiver = Receiver()
    settings.WEBHOOK_ORIGINS = [receiver.origin]
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


@pytest.fixture
def hook(cast, tea, receiver):
    events = ["judgment.stored", "item.complete", "batch.complete"]
    return deliver.add_webhook(tea, f"{receiver.origin}/hook", events, by=cast.person("Carol"))


def judge(study, user):
    slot_id = queue.claim(study, user)
    slot = study.slots.get(pk=slot_id)
    choice = str(slot.item.options.get(number=1).candidate_id)
    submit.submit(study, slot_id, user, {"choice": choice}, key=f"k{slot_id}")


def send_all():
    for following in list(deliver.deliveries_due()):
        while following:
            following = deliver.send(following)
