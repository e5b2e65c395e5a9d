"""Languages by code and by name."""

import pytest

from asrbatch.errors import ConfigError
from asrbatch.languages import LANGUAGE_NAMES, language_code, parse_language


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("en", "en"),
        ("English", "en"),
        ("ZH", "zh"),
        ("chinese", "zh"),
        ("zh-CN", "zh"),
        ("pt_BR", "pt"),
        ("Haitian Creole", "ht"),
        ("auto", None),
    ],
)
def test_codes_and_names_are_understood(text, code):
    assert parse_language(text) == code


def test_an_unknown_language_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"'Englsh'.*did you mean english"):
        parse_language("Englsh")


def test_every_name_leads_back_to_its_code():
    assert {language_code(name): name for name in LANGUAGE_NAMES.values()} == LANGUAGE_NAMES


def test_none_is_no_language():
    assert language_code("None") is None
