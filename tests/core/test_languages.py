import pytest
from django.utils import translation

from annotation.core import languages, text

LATIN = "Walk along the river early, before the village wakes."


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (LATIN, "latin"),
        ("강가의 길을 이른 아침에 걸어 보세요. 마을이 깨기 전에.", "hangul"),
        ("朝早く川沿いの道を歩いてみてください。静かです。", "kana"),
        ("Ok.", ""),
        ("12345 67890 !!!", ""),
    ],
)
def test_the_script_of_a_text_of_twenty_letters(words, script):
    assert languages.script(words, 20) == script


@pytest.mark.parametrize(
    ("name", "code"),
    [("English", "en"), ("en_US", "en-US"), ("한국어", "ko"), ("Chinese", "zh"),
     ("Simplified Chinese", "zh-hans"), ("unknown", ""), ("", ""), ("Klingon", "Klingon")],
)  # fmt: skip
def test_a_language_is_known_by_its_name(name, code):
    assert languages.code_of(name) == code


@pytest.mark.parametrize(
    ("words", "page", "stored", "code"),
    [
        ("第一周", "ko", "", "zh"),
        ("第一周", "en", "", "zh"),
        ("第一周", "zh-hans", "", ""),
        ("第一周", "en", "ja", "ja"),
        ("第一周", "en", "zh-Hant", "zh-Hant"),
        ("第一周", "ja", "", ""),
        ("朝早く", "zh-hans", "", "ja"),
        ("산책하세요", "en", "en", "ko"),
        ("산책하세요", "ko", "ko", ""),
        (LATIN, "ko", "", "en"),
        (LATIN, "en", "", ""),
        (LATIN, "en", "zh", ""),
        (LATIN, "es", "", "en"),
        ("Quiero una cena tranquila en casa", "es", "", ""),
        (
            f"他说：{LATIN}现在是早上，村庄还没有醒来，河边的小路上一个人也没有，只有鸟叫。",
            "zh-hans",
            "",
            "",
        ),
        (LATIN, "ko", "zh", "en"),
        ("Guten Abend", "ko", "de", "de"),
        ("Wo finde ich hier ein gutes Café?", "ko", "", "und"),
        ("Quiero una cena tranquila en casa", "zh-hans", "", "und"),
        ("Ik wil graag een rustige avond thuis", "zh-hans", "", "und"),
        ("Cómo", "zh-hans", "", "und"),
        ("T-money", "zh-hans", "", "en"),
        ("Boots, map, compass, wool socks", "ko", "en", "en"),
        ("Guten Abend", "en", "de", "de"),
        ("Добрый вечер", "en", "ru", "ru"),
        ("Добрый вечер", "en", "", ""),
        ("T-money 카드를 충전하세요", "en", "", "ko"),
        ("…", "ko", "zh", ""),
        ("", "en", "", ""),
    ],
)
def test_a_text_has_a_lang_where_its_page_is_in_another_language(words, page, stored, code):
    assert languages.differing(words, page, stored) == code


@pytest.mark.parametrize(
    ("page", "html"),
    [
        ("en", '<h2 lang="zh">第一周</h2>\n<p>Rest.</p>\n<ul>\n<li lang="ko">쉬세요</li>\n</ul>\n'),
        ("ko", '<h2 lang="zh">第一周</h2>\n<p lang="en">Rest.</p>\n<ul>\n<li>쉬세요</li>\n</ul>\n'),
    ],
)
def test_each_paragraph_has_the_lang_of_its_own_script(page, html):
    with translation.override(page):
        rendered = text.render("## 第一周\n\nRest.\n\n- 쉬세요")
    assert rendered == html


def test_a_paragraph_without_frequent_words_is_in_the_language_of_its_text():
    with translation.override("ko"):
        english = text.render("What you need:\n\n- Boots, map, compass, wool socks")
        german = text.render("Was ihr braucht, steht hier:\n\n- Karte und Kompass")
    assert '<li lang="en">Boots' in english
    assert '<li lang="und">Karte' in german


@pytest.mark.parametrize("words", [12, 13])
def test_a_text_reads_like_english_where_one_word_in_twelve_is_frequent_there(words):
    assert languages.like_english("with " + "x " * (words - 1)) is (words == 12)


def test_foreign_html_brings_no_lang_of_its_own():
    assert text.render('<p lang="zh">').startswith("<p>&lt;p lang=")


def test_a_line_of_another_language_is_isolated_and_escaped():
    with translation.override("en"):
        assert text.plain("<b>第一周</b>") == '<bdi lang="zh">&lt;b&gt;第一周&lt;/b&gt;</bdi>'
        assert text.plain("<b>river") == "&lt;b&gt;river"
        assert text.plain("Guten Abend", "de") == '<bdi lang="de">Guten Abend</bdi>'


@pytest.mark.parametrize(
    ("code", "name"),
    [("zh", "中文"), ("en", "English"), ("ko", "한국어"), ("pt-BR", "Português Brasileiro"),
     ("zh-TW", "繁體中文"), ("xx", "xx"), ("", "")],
)  # fmt: skip
def test_a_language_is_called_by_its_own_name(code, name):
    assert languages.endonym(code) == name
