import pytest

from turnwire.agents.studio.forms import FormInvalid, read_form

RELEASE = "release (the)? (order|purchase order) {order}"


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Please release purchase order 4500001042!", {"order": "4500001042"}),
        ("RELEASE the   order: po-77.", {"order": "PO-77"}),
        ("release order please", None),
        ("prerelease order 3", None),
        ("release order 3x?", {"order": "3X"}),
    ],
)
def test_a_form_is_found_anywhere_in_a_message(message: str, found: object):
    assert read_form(RELEASE).match(message) == found


def test_accents_and_case_do_not_matter():
    assert read_form("libera el pedido {p}").match("¿Puede LIBERÁ el Pedido 12?") == {"p": "12"}


@pytest.mark.parametrize("form", ["", "a {b", "a (b", "a ()", "a {b} {b}", "{B!}", "x " * 30])
def test_what_is_no_form_is_refused(form: str):
    with pytest.raises(FormInvalid):
        read_form(form)


def test_a_long_message_takes_no_long_time():
    form = read_form("(a|a a|a a a)? (a|a a)? (a|a a)? (a|a a)? b {c}")
    assert form.match("a " * 20_000) is None
