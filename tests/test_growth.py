import pytest

from tests.growth import assert_linear


def test_work_in_proportion_to_the_text_passes():
    assert_linear(lambda text: [each.upper() for each in text], "a".__mul__, 10_000)


def test_work_in_the_square_of_the_text_is_noticed():
    with pytest.raises(AssertionError):
        assert_linear(lambda text: [text.count(each) for each in text], "a".__mul__, 3_000)
