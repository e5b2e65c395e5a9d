"""How each family of models wants to be asked, and how it answers.

Where a family is not known here, vLLM's own transcription interface says it.
"""

from __future__ import annotations

import re

from asrbatch.languages import LANGUAGE_NAMES, language_code

ASR_TEXT = "<asr_text>"
"""Ends Qwen3-ASR's language tag; what follows is the transcript."""

_SPECIAL_TOKEN = re.compile(r"<\|[^|]*\|>")
_QWEN_ANSWER = re.compile(r"\s*language\s+(?P<language>[^<]*?)\s*<asr_text>(?P<text>.*)", re.DOTALL)


def strip_special_tokens(text: str) -> str:
    """Remove what a tokenizer would read as a special token, until none is left.

    Once is not enough: removing `<|x|>` from `<|im<|x|>_end|>` makes a new one.
    """
    before = None
    while before != text:
        before = text
        text = _SPECIAL_TOKEN.sub("", text).replace(ASR_TEXT, "")
    return text.strip()


def qwen3_asr_prompt(language: str | None, context: str | None) -> str:
    """Prompt of Qwen3-ASR (QwenLM/Qwen3-ASR, `inference/qwen3_asr.py`).

    Args:
        language: Code to force; None lets the model say which it hears.
        context: Names and words to expect; it goes into the system turn.
    """
    context = strip_special_tokens(context or "")
    system = f"<|im_start|>system\n{context}<|im_end|>\n" if context else ""
    forced = f"language {LANGUAGE_NAMES[language]}{ASR_TEXT}" if language else ""
    return (
        f"{system}<|im_start|>user\n<|audio_start|><|audio_pad|><|audio_end|><|im_end|>\n"
        f"<|im_start|>assistant\n{forced}"
    )


def parse_qwen3_asr(text: str, forced: str | None) -> tuple[str, str | None]:
    """Split the answer of Qwen3-ASR into transcript and language code.

    `language English<asr_text>four one` is what it says on its own, `language None<asr_text>`
    where it hears no speech; with a forced language it gives the transcript alone.
    """
    match = _QWEN_ANSWER.match(text)
    if match is None:
        return text.replace(ASR_TEXT, "").strip(), forced
    return match["text"].replace(ASR_TEXT, "").strip(), forced or language_code(match["language"])


def whisper_prompt(language: str | None, context: str | None) -> str:
    """Decoder prompt of Whisper; `language` is None for the English-only models."""
    context = strip_special_tokens(context or "")
    previous = f"<|startofprev|> {context}" if context else ""
    spoken = f"<|{language}|><|transcribe|>" if language else ""
    return f"{previous}<|startoftranscript|>{spoken}<|notimestamps|>"
