"""A history made up for whoever needs one, without a file."""

from datetime import UTC, datetime, timedelta

from annotation.core import jobs
from annotation.histories import ingest
from annotation.histories.models import Session, Upload, changing
from annotation.histories.records import Conversation, Message, Search, Skipped, Visit
from annotation.histories.store import store_records

START = datetime(2026, 1, 20, 9, tzinfo=UTC)
LONG = "Walk along the river to the mill, then back over the bridge. " * 20
CHATS = [
    (
        "A weekend by the sea",
        "Where can I drink tea near the harbour? My mail is mina@example.org.",
        LONG,
    ),
    ("去哪里喝茶", "我在杭州,电话 13812345678,想找一家安静的茶馆。", "湖边有几家茶馆,早上人少。"),
    (
        "맥주",
        "서울시 강남구 테헤란로 152 근처에서 맥주를 마시고 싶어요.",
        "강가에 작은 가게가 있어요.",
    ),
    ("", "```python\nprint(1)\n```\nWhy?", "Because <b>it</b> says so."),
    ("A-very-long-title-without-a-space-" * 6, "a" * 300, "b " * 300),
]


def fill_history(owner) -> Session:
    """Give ``owner`` chats in three scripts, days of searches and visits; the first chat."""
    records = [_chat(n, *texts) for n, texts in enumerate(CHATS)]
    days = [START + timedelta(days=3 * n) for n in range(20)]
    records += [Search("google-search", f"tea houses {n}", day) for n, day in enumerate(days)]
    records += [
        Visit("youtube", "How to brew oolong", days[0]),
        Skipped("entry 9", "junk: nothing"),
    ]
    upload = bring(owner, records)
    Upload.objects.filter(pk=upload.pk).update(source="chatgpt")
    Upload.objects.create(owner=owner, size=5_000_000, received=2_000_000, fingerprint="x")
    Upload.objects.create(
        owner=owner, size=9, status="failed", error_code="zip_bomb", error="It unpacks to too much."
    )
    return Session.objects.get(owner=owner, external_id="chat-0")


def bring(owner, records) -> Upload:
    """Store records as those of one file, marked and findable."""
    upload = Upload.objects.create(
        owner=owner, size=70_000, received=70_000, status="running", attempts=1
    )
    with changing(owner):
        counts = store_records(upload, records)
        Upload.objects.filter(pk=upload.pk).update(
            counts=counts.as_json(), skipped=counts.omissions(), stored_at=START
        )
    ingest._mark(upload, jobs.Lease(upload))
    return upload


def _chat(n: int, title: str, question: str, answer: str) -> Conversation:
    at = START + timedelta(days=17 * n)
    turns = (
        Message("user", question, at, attachments=("bed.png",) if n == 0 else ()),
        Message("assistant", answer, at + timedelta(minutes=1)),
        Message("user", "Thank you!", at + timedelta(minutes=2)),
    )
    return Conversation("chatgpt", f"chat-{n}", title, turns, at, at + timedelta(minutes=2))
