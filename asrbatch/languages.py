"""Languages by code and by name."""

from __future__ import annotations

import re
from difflib import get_close_matches

from asrbatch.errors import ConfigError

# Codes and names as openai/whisper `tokenizer.py` has them, and what Qwen3-ASR adds or names
# otherwise (Filipino); both models answer to the English name.
_NAMES = """
af Afrikaans|am Amharic|ar Arabic|as Assamese|az Azerbaijani|ba Bashkir|be Belarusian|bg Bulgarian
bn Bengali|bo Tibetan|br Breton|bs Bosnian|ca Catalan|cs Czech|cy Welsh|da Danish|de German|el Greek
en English|es Spanish|et Estonian|eu Basque|fa Persian|fi Finnish|fil Filipino|fo Faroese|fr French
gl Galician|gu Gujarati|ha Hausa|haw Hawaiian|he Hebrew|hi Hindi|hr Croatian|ht Haitian Creole
hu Hungarian|hy Armenian|id Indonesian|is Icelandic|it Italian|ja Japanese|jw Javanese|ka Georgian
kk Kazakh|km Khmer|kn Kannada|ko Korean|la Latin|lb Luxembourgish|ln Lingala|lo Lao|lt Lithuanian
lv Latvian|mg Malagasy|mi Maori|mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay
mt Maltese|my Myanmar|ne Nepali|nl Dutch|nn Nynorsk|no Norwegian|oc Occitan|pa Punjabi|pl Polish
ps Pashto|pt Portuguese|ro Romanian|ru Russian|sa Sanskrit|sd Sindhi|si Sinhala|sk Slovak
sl Slovenian|sn Shona|so Somali|sq Albanian|sr Serbian|su Sundanese|sv Swedish|sw Swahili|ta Tamil
te Telugu|tg Tajik|th Thai|tk Turkmen|tl Tagalog|tr Turkish|tt Tatar|uk Ukrainian|ur Urdu|uz Uzbek
vi Vietnamese|yi Yiddish|yo Yoruba|yue Cantonese|zh Chinese
"""

LANGUAGE_NAMES: dict[str, str] = {
    code: name
    for code, _, name in (
        entry.partition(" ") for line in _NAMES.split("\n") for entry in line.split("|") if entry
    )
}
"""Name of each language code, for example `en` to `English`."""

_CODES = {name.lower(): code for code, name in LANGUAGE_NAMES.items()} | {
    "mandarin": "zh",
    "burmese": "my",
    "flemish": "nl",
    "valencian": "ca",
}

UNSPACED_LANGUAGES = frozenset({"zh", "yue", "ja", "th"})
"""Written without spaces between words."""

# Thai; CJK punctuation, kana and bopomofo; ideographs; full-width forms; rarer ideographs.
_UNSPACED = re.compile(
    "[\u0e00-\u0e7f\u3000-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)


def parse_language(text: str) -> str | None:
    """Turn a code or a name into a code, whatever its case.

    Args:
        text: For example `en`, `English`, `zh-CN`, or `auto`.

    Returns:
        The code; None for `auto`.

    Raises:
        ConfigError: No such language.
    """
    wanted = text.strip().lower().replace("_", "-")
    if wanted == "auto":
        return None
    if wanted in LANGUAGE_NAMES:
        return wanted
    if wanted in _CODES:
        return _CODES[wanted]
    base = wanted.partition("-")[0]
    if base != wanted and base in LANGUAGE_NAMES:
        return base
    near = get_close_matches(wanted, [*_CODES, *LANGUAGE_NAMES], n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    msg = f"language: {text!r} is not known; {hint}give a code or a name, such as en or English, or auto"
    raise ConfigError(msg)


def language_code(name: str) -> str | None:
    """Code of the language a model names in its answer; None where the name is not known."""
    return _CODES.get(name.strip().lower())


def is_unspaced(character: str) -> bool:
    """Whether a character is written without spaces around its words, as in Chinese or Thai."""
    return _UNSPACED.match(character) is not None
