from turnwire.agents.studio.state import MOST, appended, merged


def test_a_list_keeps_its_latest_entries_and_none_empties_it():
    grown = appended(list(range(MOST)), ["new"])
    assert (len(grown), grown[-1], grown[0]) == (MOST, "new", 1)
    assert appended(grown, None) == []


def test_what_is_too_large_is_left_out_and_says_so():
    [kept] = appended([], [{"rows": ["x" * 100_000]}])
    assert kept["truncated"] is True


def test_a_secret_by_its_name_is_never_kept():
    assert merged({}, {"api_key": "k", "Authorization": "b", "tool_call": {"a": 1}}) == {
        "tool_call": {"a": 1}
    }
    assert merged({"tool_call": 1}, {"tool_call": None}) == {}
    assert merged({"a": 1}, None) == {}
