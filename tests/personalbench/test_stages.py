"""Stage 1 shows evidence in its context."""

import pytest

from annotation.core.templatetags.attune import passages
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds.attribute.kind import _folded
from annotation.personas.models import Attribute, Evidence

pytestmark = pytest.mark.django_db


def turns(count, *marked):
    return [
        {"role": "user", "text": f"Turn {n} here"} | ({"spans": [[0, 4]]} if n in marked else {})
        for n in range(count)
    ]


def test_context_is_folded_beyond_a_turn_before_and_after_the_evidence():
    runs = _folded(turns(8, 4))
    assert [(folded, len(run)) for folded, run in runs] == [(True, 3), (False, 3), (True, 2)]
    assert [folded for folded, _run in _folded(turns(3))] == [False]
    assert _folded([]) == []


def test_a_passage_is_highlighted_and_stays_text():
    html = passages({"text": "I like <b>tea</b> & bread", "spans": [[2, 13], [18, 25]]})
    assert '<mark title="Evidence">like &lt;b&gt;tea</mark>' in html
    assert html.count("<mark") == 2
    assert "<mark" not in passages({"text": "plain"})


def test_raters_see_the_evidence_and_may_unfold_the_rest(tea, cast, login):
    persona = cast.persona(tea)
    attribute = Attribute.objects.create(persona=persona, external_id="a", text="Bakes bread.")
    Evidence.objects.create(attribute=attribute, messages=turns(8, 4))
    open_batch(tea, tea.tasks.create(name="traits", kind="attribute", overlap=3, config={}))
    page = login(cast.member("Ann", tea, "annotator")).get("/studies/tea/judge/").content.decode()
    assert page.count("<mark") == 1
    assert "3 more turns" in page and "2 more turns" in page
