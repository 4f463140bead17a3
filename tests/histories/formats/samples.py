"""One small export of each format: its published layout with invented texts."""

import io
import json
import tarfile
import zipfile

from annotation.histories.formats import Reading
from annotation.histories.records import Conversation, Record, Refused, Skipped


def records(data: bytes) -> list[Record]:
    """All that reading these bytes gives."""
    return list(Reading(io.BytesIO(data)))


def chats(data: bytes) -> list[Conversation]:
    """The conversations alone."""
    return [record for record in records(data) if isinstance(record, Conversation)]


def turns(chat: Conversation) -> list[tuple[str, str]]:
    """Roles and texts."""
    return [(message.role, message.text) for message in chat.messages]


def skips(data: bytes) -> list[tuple[str, str]]:
    """Places and codes of what was left out."""
    return [(r.where, r.code) for r in records(data) if isinstance(r, Skipped)]


def refusal(data: bytes) -> str:
    """The code with which these bytes are refused, "" where they are read."""
    try:
        records(data)
    except Refused as refused:
        assert refused.sentence
        return refused.code
    return ""


def as_json(value) -> bytes:
    return json.dumps(value).encode()


def as_lines(*values) -> bytes:
    return b"\n".join(map(as_json, values)) + b"\n"


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip of {name: content}."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    """A .tgz of {name: content}."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def node(name, parent, children, role=None, *parts, at=None, kind="text", **more):
    """A node of ChatGPT's tree; without a role it has no message."""
    message = None
    if role:
        message = {
            "id": f"m-{name}",
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": at,
            "content": {"content_type": kind, "parts": list(parts)},
            "recipient": "all",
            "metadata": {},
        } | more
    return {"id": name, "parent": parent, "children": children, "message": message}


def tree(*nodes) -> dict:
    return {each["id"]: each for each in nodes}


CHATGPT = {
    "title": "Trip",
    "create_time": 1735725600.5,
    "update_time": 1735725605.25,
    "conversation_id": "c-1",
    "id": "c-1",
    "current_node": "n3",
    "mapping": tree(
        node(
            "n2", "sys", ["n3", "n3b"], "user",
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-A"},
            "What is this?",
            at=1735725600.5, kind="multimodal_text",
            metadata={"attachments": [{"id": "file-A", "name": "cat.png"}]},
        ),
        node("root", None, ["sys"]),
        node("sys", "root", ["n2"], "system", "",
             metadata={"is_visually_hidden_from_conversation": True}),
        node("n3", "n2", [], "assistant", "A cat.", at=1735725605.25,
             metadata={"model_slug": "gpt-4o"}),
        node("n3b", "n2", [], "assistant", "A dog."),
    ),
}  # fmt: skip

CLAUDE = {
    "uuid": "c-1",
    "name": "Herbs",
    "account": {"uuid": "acc-1"},
    "created_at": "2026-04-02T22:00:00.838614Z",
    "updated_at": "2026-04-02T22:00:09.000001Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "Shade herbs?",
            "files": [{"file_name": "bed.png"}],
            "content": [{"type": "text", "text": "Shade herbs?", "citations": []}],
            "attachments": [{"file_name": "list.txt", "extracted_content": "basil"}],
            "created_at": "2026-04-02T22:00:00.838614Z",
            "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "```\nThis block is not supported on your current device yet.\n```\nMint.",
            "content": [
                {"type": "thinking", "thinking": "Hm"},
                {"type": "tool_use", "name": "web_search", "input": {"query": "shade"}},
                {"type": "tool_result", "content": []},
                {"type": "text", "text": "Mint."},
                {"type": "voice_note"},
                {"type": "text", "text": "Or ferns."},
            ],
            "created_at": "2026-04-02T22:00:09.000001Z",
            "parent_message_uuid": "m1",
        },
    ],
}

SEARCH = [
    {
        "header": "Search", "title": "Searched for best ramen", "products": ["Search"],
        "titleUrl": "https://www.google.com/search?q=best+ramen",
        "time": "2026-08-16T15:42:07.123Z",
    },
    {
        "header": "Search", "title": "Visited Example", "time": "2026-08-16T15:41:00Z",
        "titleUrl": "https://www.google.com/url?q=https://example.org/&usg=x",
    },
    {"header": "Search", "title": "Used Search", "time": "2026-08-16T15:40:00Z"},
    {"header": "Search", "title": "1 notification", "time": "2026-08-16T15:39:00Z"},
]  # fmt: skip
YOUTUBE = [
    {
        "header": "YouTube", "title": "고양이 을(를) 시청했습니다.", "products": ["YouTube"],
        "time": "2026-08-15T01:00:00.000Z", "titleUrl": "https://www.youtube.com/watch?v=x",
        "subtitles": [{"name": "채널"}],
    },
    {
        "header": "YouTube", "title": "Watched Soap", "time": "2026-08-15T00:59:00.000Z",
        "titleUrl": "https://www.youtube.com/watch?v=y", "details": [{"name": "From Google Ads"}],
    },
    {
        "header": "YouTube", "title": "Gesucht nach: katzen", "time": "2026-08-15T00:58:00.000Z",
        "titleUrl": "https://www.youtube.com/results?search_query=katzen",
    },
]  # fmt: skip
GEMINI = [
    {
        "header": "Gemini Apps", "title": "Prompted And in autumn?", "products": ["Gemini Apps"],
        "time": "2026-03-04T06:10:00.000Z", "safeHtmlItem": [{"html": "<p>Maples.</p>"}],
    },
    {
        "header": "Gemini Apps", "title": "Prompted What to see in Kyoto?",
        "time": "2026-03-04T06:00:00.000Z", "attachedFiles": ["notes.pdf"],
        "safeHtmlItem": [{"html": "<p>See <b>Tofuku-ji</b> &amp; more.</p><ul><li>One</li></ul>"}],
        "subtitles": [{"name": "Attached 1 file."}],
    },
    {"header": "Gemini Apps", "title": "Used Gemini Apps", "time": "2026-03-04T05:00:00Z"},
]  # fmt: skip

CHROME = {
    "Browser History": [
        {
            "title": "", "url": "https://www.google.com/search?q=trains",
            "page_transition_qualifier": "CLIENT_REDIRECT", "time_usec": 1764547200123456,
        },
        {"title": "Trains", "url": "https://example.org/trains", "time_usec": 1764547300000000},
        {"title": "", "url": "https://example.org/", "time_usec": 0},
    ],
    "Typed Url": [{"url": "https://example.org/typed", "time_usec": 1764547300000000}],
}  # fmt: skip


def cell(header: str, *lines: str, caption: str = "<b>Products:</b><br>&emsp;Search<br>") -> str:
    """One record of a Takeout page."""
    return (
        '<div class="outer-cell mdl-cell"><div class="mdl-grid">'
        f'<div class="header-cell mdl-cell"><p class="mdl-typography--title">{header}<br></p></div>'
        f'<div class="content-cell mdl-cell mdl-typography--body-1">{"<br>".join(lines)}</div>'
        '<div class="content-cell mdl-typography--body-1 mdl-typography--text-right"></div>'
        f'<div class="content-cell mdl-typography--caption">{caption}</div></div></div>'
    )


def page(*cells: str) -> bytes:
    """A Takeout page."""
    style = "<style>.outer-cell { margin: 8px }</style>"
    return f"<html><head>{style}</head><body>{''.join(cells)}</body></html>".encode()


def link(url: str, words: str) -> str:
    return f'<a href="{url}">{words}</a>'


SEARCH_PAGE = page(
    cell(
        "Search",
        "Searched for&nbsp;" + link("https://www.google.com/search?q=ramen&amp;hl=en", "ramen"),
        "Aug 16, 2026, 5:42:07\u202fPM CEST",
        "",
    ),
    cell("Search", link("https://example.org", "Beispiel") + " aufgerufen",
         "27.08.2026, 20:04:54 MESZ"),
)  # fmt: skip

COPILOT = (
    "\ufeffConversation,Time,Author,Message\r\n"
    '"Excel help",2026-07-27T10:06:00,AI,"Yes."\r\n'
    '"Excel help",2026-07-27T10:06:00,Human,"Sure?"\r\n'
    '"Excel help",2026-07-27T10:05:00,AI,"Use `SUMIF`.\n\nThen ""Enter""."\r\n'
    '"Excel help",2026-07-27T10:05:00,Human,"Only cells over 10?"\r\n'
).encode()

GROK = {
    "conversations": [
        {
            "conversation": {
                "id": "g-1", "title": "Stars", "user_id": "u",
                "create_time": "2025-01-15T10:09:59.000000Z",
                "modify_time": "2025-01-15T10:10:05.000000Z",
            },
            "responses": [
                {"response": {
                    "_id": "r1", "sender": "human", "message": "How far?", "model": "grok-3",
                    "create_time": {"$date": {"$numberLong": "1736935800000"}},
                }},
                {"_id": "r2", "sender": "ASSISTANT", "message": "8.6 light-years.",
                 "create_time": {"$date": {"$numberLong": "1736935803250"}}},
            ],
        }
    ]
}  # fmt: skip

DEEPSEEK = {
    "id": "d-1",
    "title": "早餐",
    "inserted_at": "2025-03-08T10:00:00.505000+08:00",
    "updated_at": "2025-03-08T10:05:00+08:00",
    "mapping": {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": {"id": "1", "parent": "root", "children": ["old", "2"], "message": {
            "files": [{"file_name": "menu.pdf"}], "model": "deepseek-chat",
            "inserted_at": "2025-03-08T10:00:01+08:00",
            "fragments": [{"type": "REQUEST", "content": "吃什么？"}]}},
        "old": {"id": "old", "parent": "1", "children": [], "message": {
            "fragments": [{"type": "RESPONSE", "content": "面。"}]}},
        "2": {"id": "2", "parent": "1", "children": [], "message": {
            "files": [], "inserted_at": "2025-03-08T10:00:05+08:00",
            "fragments": [{"type": "THINK", "content": "嗯"},
                          {"type": "RESPONSE", "content": "豆浆。"}]}},
    },
}  # fmt: skip

LECHAT = [
    {
        "id": "b", "version": 0, "chatId": "c-1", "role": "assistant", "content": "",
        "createdAt": "2025-10-10T12:00:05.000Z", "files": [],
        "contentChunks": [{"type": "text", "text": "Un chat."}, None,
                          {"type": "tool_call", "name": "web_search"}],
    },
    {
        "id": "a", "version": 0, "chatId": "c-1", "role": "user", "content": "Que vois-tu ?",
        "createdAt": "2025-10-10T12:00:00.000Z", "contentChunks": None,
        "files": [{"type": "image", "name": "photo.png"}],
    },
]  # fmt: skip

WILDCHAT = {
    "conversation_hash": "0a1b", "model": "gpt-4-1106-preview", "turn": 1, "hashed_ip": "0bad",
    "timestamp": "2024-01-02T03:04:06+00:00", "header": {"user-agent": "secret"},
    "conversation": [
        {"role": "user", "content": "Hi", "hashed_ip": "0bad", "timestamp": None,
         "turn_identifier": 1},
        {"role": "assistant", "content": "Hello", "timestamp": "2024-01-02T03:04:07+00:00",
         "turn_identifier": 1},
    ],
}  # fmt: skip
LMSYS = {
    "conversation_id": "l-1",
    "model": "vicuna",
    "turn": 1,
    "conversation": [
        {"content": "I am NAME_1", "role": "user"},
        {"content": "Hello NAME_1", "role": "assistant"},
    ],
}


SHAREGPT = {
    "id": "x_0",
    "conversations": [
        {"from": "system", "value": "Be kind."},
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "<p>Hello</p>"},
    ],
}


MESSAGES = (
    {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
        ]
    },
    {
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
            {"role": "tool", "content": "secret"},
        ]
    },
)  # fmt: skip
AISTUDIO = {
    "runSettings": {"model": "models/gemini"}, "systemInstruction": {},
    "chunkedPrompt": {"chunks": [
        {"role": "user", "text": "Hi", "createTime": "2026-01-01T00:00:00Z"},
        {"role": "model", "text": "Thinking", "isThought": True},
        {"role": "model", "text": "Hello"},
    ]},
}  # fmt: skip
QUERIES = (
    b"timestamp,query\n"
    b'2025-03-01T19:05:00+09:00,"two lines:\nfirst, ""second"""\n'
    b"1740823500,epoch seconds\n"
    b",undated\n"
    b"1740823501,\n"
    b"1740823502000,=1+1\n"
)
CHAT_HTML = (
    b"<html><head><title>ChatGPT Data Export</title></head><body><script>\n"
    b"var jsonData = " + as_json([CHATGPT]) + b";\nvar assetsJson = {};</script></body></html>"
)

# name -> (source, bytes)
ALL = {
    "chatgpt": ("chatgpt", as_json([CHATGPT])),
    "chatgpt-page": ("chatgpt", CHAT_HTML),
    "chatgpt-zip": ("chatgpt", zipped({"conversations.json": as_json([CHATGPT])})),
    "claude": ("claude", as_json([CLAUDE])),
    "search": ("google_search", as_json(SEARCH)),
    "search-page": ("google_search", SEARCH_PAGE),
    "youtube": ("youtube", as_json(YOUTUBE)),
    "gemini": ("gemini", as_json(GEMINI)),
    "chrome": ("chrome", as_json(CHROME)),
    "copilot": ("copilot", COPILOT),
    "grok": ("grok", as_json(GROK)),
    "deepseek": ("deepseek", as_json([DEEPSEEK])),
    "lechat": ("lechat", as_json(LECHAT)),
    "wildchat": ("wildchat", as_lines(WILDCHAT)),
    "lmsys": ("lmsys", as_lines(LMSYS)),
    "sharegpt": ("sharegpt", as_json([SHAREGPT])),
    "openai_messages": ("openai_messages", as_lines(*MESSAGES)),
    "aistudio": ("aistudio", as_json(AISTUDIO)),
    "queries": ("queries", QUERIES),
    "takeout-tgz": (
        "google_takeout",
        tarred({"Takeout/a.json": as_json(SEARCH), "Takeout/b.json": as_json(GEMINI)}),
    ),
}
# Those that are no archives.
TEXTS = [name for name, (_, data) in ALL.items() if data[:2] not in (b"PK", b"\x1f\x8b")]
