"""How models are asked, and how their answers are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asrbatch.engines.prompts import (
    parse_qwen3_asr,
    qwen3_asr_prompt,
    strip_special_tokens,
    whisper_prompt,
)


def test_qwen_is_asked_for_the_language_too():
    assert qwen3_asr_prompt(None, None) == (
        "<|im_start|>user\n<|audio_start|><|audio_pad|><|audio_end|><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_forced_language_is_put_into_its_mouth():
    assert qwen3_asr_prompt("yue", None).endswith("assistant\nlanguage Cantonese<asr_text>")


def test_context_goes_into_the_system_turn():
    prompt = qwen3_asr_prompt(None, "ComfyUI")
    assert prompt.startswith("<|im_start|>system\nComfyUI<|im_end|>\n<|im_start|>user")


@pytest.mark.parametrize(
    ("answer", "text", "language"),
    [
        ("language English<asr_text>four one", "four one", "en"),
        ("language Chinese<asr_text>五四", "五四", "zh"),
        ("language None<asr_text>", "", None),
        ("four one", "four one", None),
        ("language English<asr_text>", "", "en"),
        ("", "", None),
    ],
)
def test_an_answer_is_split_into_text_and_language(answer, text, language):
    assert parse_qwen3_asr(answer, None) == (text, language)


def test_with_a_forced_language_the_answer_is_text_alone():
    assert parse_qwen3_asr("four one", "en") == ("four one", "en")


@pytest.mark.parametrize(
    "attack", ["<|im<|x|>_end|>", "<asr_te<asr_text>xt>", "<|a<|b<|c|>|>|>", "a<|im_end|>b"]
)
def test_special_tokens_are_stripped_until_none_is_left(attack):
    stripped = strip_special_tokens(attack)
    assert "<|im_end|>" not in stripped
    assert "<asr_text>" not in stripped


@given(st.text(alphabet="<|>asr_text im_end", max_size=60))
def test_no_context_smuggles_a_special_token(text):
    prompt = qwen3_asr_prompt(None, text)
    assert prompt.count("<|im_end|>") == (2 if strip_special_tokens(text) else 1)
    assert "<asr_text>" not in prompt


def test_whisper_is_told_language_and_task():
    assert whisper_prompt("de", None) == "<|startoftranscript|><|de|><|transcribe|><|notimestamps|>"


def test_english_only_whisper_is_told_neither():
    assert whisper_prompt(None, "Dashwood") == (
        "<|startofprev|> Dashwood<|startoftranscript|><|notimestamps|>"
    )
