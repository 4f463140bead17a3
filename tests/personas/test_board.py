"""Round 2 of curation: balance, near-duplicates with their decisions, and the split."""

import pytest

from annotation.core.embed import embed
from annotation.core.errors import Conflict, DomainError
from annotation.personas import balance, board, curate
from annotation.personas.models import PairDecision, Persona
from tests.personas.conftest import text_of

PAGE = "/studies/tea/personas/board/"


def pairs(study, least=0.9):
    rows = board.undecided(study, board.versions(study), least)
    return [(row.first.persona.external_id, row.second.persona.external_id) for row in rows]


def test_the_most_similar_pairs_come_first_and_each_pair_once(people, tea):
    versions = board.versions(tea)
    everyone = board.alike(versions, -1.0)
    assert len(everyone) == 6
    assert everyone[0][:2] == (0, 1)
    assert [pair[2] for pair in everyone] == sorted((pair[2] for pair in everyone), reverse=True)
    first, second = embed([balance.values_as_text(row.profile) for row in versions[:2]])
    assert everyone[0][2] == pytest.approx(float(first @ second), abs=1e-6)
    assert pairs(tea) == [("p1", "p2")]


def test_both_stay_and_the_pair_is_not_asked_about_again(people, tea, cast):
    carol = cast.person("Carol")
    board.decide(tea, people[1].pk, people[0].pk, "both", by=carol)
    assert pairs(tea) == []
    assert not Persona.objects.exclude(dropped_at=None).exists()
    with pytest.raises(Conflict, match="decided already"):
        board.decide(tea, people[0].pk, people[1].pk, "first", by=carol)
    board.undo(tea, by=carol)
    assert pairs(tea) == [("p1", "p2")]
    with pytest.raises(DomainError, match="nothing to take back"):
        board.undo(tea, by=carol)


@pytest.mark.parametrize(("choice", "gone"), [("first", "p1"), ("second", "p2")])
def test_one_of_a_pair_is_dropped_and_comes_back(people, tea, cast, choice, gone):
    carol = cast.person("Carol")
    board.decide(tea, people[0].pk, people[1].pk, choice, by=carol)
    (dropped,) = Persona.objects.exclude(dropped_at=None)
    assert (dropped.external_id, dropped.dropped_because) == (gone, "near-duplicate")
    with pytest.raises(Conflict, match="dropped already"):
        board.decide(tea, people[0].pk, people[1].pk, "both", by=carol)
    board.undo(tea, by=carol)
    assert not Persona.objects.exclude(dropped_at=None).exists()


def test_undo_takes_back_one_s_own_decisions_alone_the_last_first(people, tea, cast):
    carol, ada = cast.person("Carol"), cast.person("Ada")
    board.decide(tea, people[0].pk, people[1].pk, "first", by=carol)
    board.decide(tea, people[2].pk, people[3].pk, "both", by=ada)
    board.undo(tea, by=carol)
    (left,) = PairDecision.objects.all()
    assert (left.decided_by, left.first, left.second) == (ada, people[2], people[3])


def test_a_drop_for_another_reason_is_not_taken_back_with_the_pair(people, tea, cast):
    carol = cast.person("Carol")
    board.decide(tea, people[0].pk, people[1].pk, "first", by=carol)
    curate.restore(people[0])
    curate.drop(people[0], "stereotyped")
    board.undo(tea, by=carol)
    assert Persona.objects.get(pk=people[0].pk).dropped_because == "stereotyped"


def test_personas_of_another_study_are_no_pair(people, tea, cast):
    other = cast.persona(cast.study("rain"), "x")
    for pk in (other.pk, people[0].pk, 2**40):
        with pytest.raises(DomainError, match="two personas of the study"):
            board.decide(tea, people[0].pk, pk, "both")


def test_the_board_shows_dimensions_pairs_and_the_funnel(people, carol):
    page = text_of(carol.get(PAGE))
    assert page.count('<svg class="chart"') == 3  # nobody has a nationality, a type or interests
    assert page.count("No persona says anything of it.") == 3
    assert "1 pair of near-duplicates to decide" in text_of(carol.get(f"{PAGE}?similar=0.9"))
    assert "personas written by people" in page


def test_a_decision_on_the_page_is_made_and_taken_back(people, carol):
    sent = {"first": people[0].pk, "second": people[1].pk, "choice": "second", "similar": "0.9"}
    answer = carol.post(f"{PAGE}pairs/", sent)
    assert answer["Location"] == f"{PAGE}?similar=0.90#pairs"
    page = text_of(carol.get(f"{PAGE}?similar=0.9"))
    assert "No pair at this threshold waits" in page
    assert "p2 is dropped." in page
    page = text_of(carol.post(f"{PAGE}pairs/", {"do": "undo", "similar": "0.9"}, follow=True))
    assert "1 pair of near-duplicates to decide" in page


@pytest.mark.parametrize("change", [{"choice": "third"}, {"first": "\0"}, {"second": str(2**70)}])
def test_what_is_no_decision_is_refused_with_a_sentence(people, carol, change):
    sent = {"first": people[0].pk, "second": people[1].pk, "choice": "both"} | change
    page = text_of(carol.post(f"{PAGE}pairs/", sent, follow=True))
    assert "Choose what becomes of the pair." in page
    assert not PairDecision.objects.exists()


def test_a_dimension_is_downloaded_as_table_and_as_chart(people, carol):
    table = text_of(carol.get(f"{PAGE}occupation.csv")).splitlines()
    assert table[0] == "value,personas,over_represented"
    assert "baker of rye bread,2,False" in table or len(table) == 4
    for ending, begins in (("svg", b"<svg"), ("png", b"\x89PNG")):
        assert carol.get(f"{PAGE}occupation.{ending}").content.startswith(begins)
    # Nobody has one.
    assert carol.get(f"{PAGE}nationality.svg").status_code == 404
    assert carol.get(f"{PAGE}occupation.pdf").status_code == 404
