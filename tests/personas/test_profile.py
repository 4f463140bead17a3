import copy

from hypothesis import given
from hypothesis import strategies as st

from annotation.personas import schema as profiles
from tests.candidates.conftest import PROFILE, unhurried

values = st.recursive(
    st.none() | st.text(max_size=4) | st.integers() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=10,
)
any_profile = st.dictionaries(st.text(max_size=3), values, max_size=5)


def pointed(profile, pointer):
    """The value at a JSON Pointer, read the standard's way."""
    value = profile
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


@unhurried
@given(any_profile, st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 0.8, 1.0]))
def test_a_mask_hides_exactly_its_share_of_the_leaves_and_nothing_else(profile, seed, share):
    before = copy.deepcopy(profile)
    kept, masked = profiles.mask(profile, seed=seed, share=share)
    count = len(profiles.leaves(profile))
    assert profile == before
    assert len(masked) == len(set(masked)) == round(share * count)
    assert len(profiles.leaves(kept)) == count - len(masked)
    remaining = [value for path, value in profiles.leaves(profile) if path not in masked]
    assert [value for _, value in profiles.leaves(kept)] == remaining
    assert profiles.mask(profile, seed=seed, share=share) == (kept, masked)


@unhurried
@given(any_profile)
def test_a_leafs_path_is_a_json_pointer_to_it(profile):
    for path, value in profiles.leaves(profile):
        assert pointed(profile, path) == value


def test_core_fields_are_demographics_and_personality_alone():
    assert profiles.core_fields({"Name": "Mina", **PROFILE}) == {
        "Demographics": PROFILE["Demographics"],
        "Personality": PROFILE["Personality"],
    }
    assert profiles.core_fields({"Preference": {}}) == {}


def test_a_profile_reads_as_an_indented_list():
    assert profiles.as_text(
        {"Age": 31, "Language": ["en", ""], "Life": {"Food_Drinks": "toast"}}
    ) == ("- Age: 31\n- Language: en\n- Life:\n  - Food Drinks: toast")
