"""Le Chat's file a chat."""

from .samples import LECHAT, as_json, chats, records, refusal, skips, turns, zipped


def test_le_chats_messages_are_sorted_by_time():
    (chat,) = records(as_json(LECHAT))
    assert chat.id == "c-1"
    assert turns(chat) == [("user", "Que vois-tu ?"), ("assistant", "Un chat.")]
    assert chat.messages[0].attachments == ("photo.png",)


def test_le_chats_archive_has_one_file_a_chat():
    second = [message | {"chatId": "c-2"} for message in LECHAT]
    archive = zipped({"chat-1.json": as_json(LECHAT), "chat-2.json": as_json([*second, 5])})
    assert [chat.id for chat in chats(archive)] == ["c-1", "c-2"]
    assert skips(archive) == [("chat-2.json: entry 3", "junk")]


def test_a_history_of_system_turns_alone_is_empty():
    assert refusal(as_json({"messages": [{"role": "system", "content": "x"}]})) == "empty_history"
