"""What a model is told to expect: a text, and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_FILE_BYTES = 1 << 20
"""More is no context but a mistake: no model takes a thousandth of it well."""


def split_hotwords(text: str) -> list[str]:
    """Words and names that stand in a text with commas or line ends between them."""
    return [
        word for line in text.splitlines() for part in line.split(",") if (word := part.strip())
    ]


def join_context(text: str | None, hotwords: Iterable[str]) -> str | None:
    """One context of a text and of words; each word once. None where there is neither."""
    words = ", ".join(dict.fromkeys(hotwords))
    parts = [part for part in ((text or "").strip(), words) if part]
    return "\n".join(parts) or None


def read_context(path: Path) -> str:
    """The text of a context file.

    Raises:
        ConfigError: It cannot be read, is no UTF-8, or far too long.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"context file: {path} cannot be read: {error}; give a text file in UTF-8"
        raise ConfigError(msg) from error
    if len(data) > MAX_FILE_BYTES:
        msg = f"context file: {path} is over {MAX_FILE_BYTES} bytes; give what to expect in a few lines"
        raise ConfigError(msg)
    return text
