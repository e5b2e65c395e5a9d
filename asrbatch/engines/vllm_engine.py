"""Offline vLLM: a rolling queue over `LLM.enqueue` and `llm_engine.step`.

Any model with vLLM's transcription interface will do. `vllm_engine` and not `vllm`, so that no
type checker takes this file for the package.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from asrbatch.data import SAMPLE_RATE, Hypothesis
from asrbatch.engines.base import token_budget
from asrbatch.engines.prompts import parse_qwen3_asr, qwen3_asr_prompt, whisper_prompt
from asrbatch.engines.vllm_settings import engine_settings, find_card
from asrbatch.errors import ConfigError, EngineError, SegmentError
from asrbatch.languages import LANGUAGE_NAMES
from asrbatch.mel import pad_waveform

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.data import Features, Segment, Waveform
    from asrbatch.engines.base import EngineConfig, ModelSpec

WHISPER_MULTILINGUAL_VOCABULARY = 51_865
"""Whisper models with fewer entries know English only (openai/whisper, `model.py`)."""

SEED = 0
"""Of sampling, so that the same segment gets the same text in any batch."""


@dataclass(slots=True)
class _Request:
    segment: Segment
    waveform: Waveform | None
    """Kept only until the language is known."""
    submitted: float
    language: str | None
    detecting: bool = False


class VllmEngine:
    """Drives an offline `vllm.LLM`, greedy, never with more than is outstanding."""

    def __init__(self, spec: ModelSpec, config: EngineConfig) -> None:
        """Load the model.

        Raises:
            ConfigError: vLLM cannot transcribe with this model.
            EngineError: vLLM cannot start.
        """
        self._config = config
        self._model_type = _model_type(spec)
        card = find_card()
        self._on_gpu = card is not None
        settings = engine_settings(spec, config, card, self._model_type)
        self._concurrency = int(settings["max_num_seqs"])
        self._llm = _load(settings, on_gpu=self._on_gpu)
        from vllm.model_executor.model_loader import get_model_cls

        self._model_config = self._llm.llm_engine.model_config
        self._model: Any = get_model_cls(self._model_config)
        if not getattr(self._model, "supports_transcription", False):
            self.close()
            msg = (
                f"model: {spec.name} has no transcription interface in vLLM; choose a speech model"
            )
            raise ConfigError(msg)
        self._stt_config = self._model.get_speech_to_text_config(self._model_config, "transcribe")
        vocabulary = getattr(self._model_config.hf_config, "vocab_size", 0)
        self._english_only = (
            self._model_type == "whisper" and vocabulary < WHISPER_MULTILINGUAL_VOCABULARY
        )
        self._refusals = _refusals()
        self._requests: dict[str, _Request] = {}

    @property
    def concurrency(self) -> int:
        """Sequences that run at a time."""
        return self._concurrency

    @property
    def capacity(self) -> int:
        """Twice what runs at a time, so that a finished sequence is replaced in the same step."""
        return 2 * self._concurrency

    @property
    def shares_cores(self) -> bool:
        """On the CPU its OpenMP threads meet at a barrier many times in a step."""
        return not self._on_gpu

    @property
    def outstanding(self) -> int:
        """Segments submitted and not yet answered."""
        return len(self._requests)

    @property
    def max_segment_samples(self) -> int | None:
        """Whisper hears 30 s; models that put audio into the prompt are bound by its length."""
        if self._model_type != "whisper":
            return None
        return int(self._stt_config.max_audio_clip_s * SAMPLE_RATE)

    @property
    def languages(self) -> frozenset[str] | None:
        """What vLLM knows of the model; Qwen3-ASR is asked by name, and for more than vLLM lists."""
        if self._english_only:
            return frozenset({"en"})
        if self._model_type == "qwen3_asr":
            return frozenset(LANGUAGE_NAMES)
        return frozenset(self._model.supported_languages)

    def submit(self, segment: Segment, audio: Waveform | Features) -> None:
        """Queue a segment; vLLM takes it up between two steps.

        Any model also takes the waveform, and computes features of it in this very thread.
        """
        request = _Request(segment, None, time.perf_counter(), segment.language)
        if audio.ndim == 2:
            self._ask(request, audio)
            return
        waveform = pad_waveform(audio)
        if self._english_only:
            request.language = "en"
        elif segment.language is None and self._model.supports_explicit_language_detection:
            request.waveform, request.detecting = waveform, True
            prompt = self._model.get_language_detection_prompt(waveform, self._stt_config)
            self._enqueue(request, prompt, 1, allowed_token_ids=self._language_tokens())
            return
        self._ask(request, waveform)

    def step(self) -> list[Hypothesis]:
        """Run one step of the engine."""
        try:
            outputs = self._llm.llm_engine.step() if self._requests else []
        except Exception as error:  # whatever it is, the engine core is gone
            msg = f"vLLM stopped: {type(error).__name__}: {error}"
            raise EngineError(msg) from error
        answers = [self._answer(output) for output in outputs if output.finished]
        return [answer for answer in answers if answer is not None]

    def close(self) -> None:
        """Stop the engine core and free its memory."""
        self._llm.llm_engine.engine_core.shutdown()

    def _ask(self, request: _Request, audio: Waveform | Features) -> None:
        prompt = self._prompt(request, audio)
        if self._config.tokens_per_s is None:
            self._enqueue(
                request, prompt, token_budget(request.segment, self._config.max_new_tokens)
            )
            return
        num_tokens = max(1, round(self._config.tokens_per_s * request.segment.duration_s))
        self._enqueue(request, prompt, num_tokens, min_tokens=num_tokens, ignore_eos=True)

    def _enqueue(
        self,
        request: _Request,
        prompt: Any,
        max_tokens: int,
        **sampling: Any,
    ) -> None:
        from vllm import SamplingParams

        temperature = request.segment.temperature
        params = SamplingParams(
            temperature=temperature,
            max_tokens=max_tokens,
            seed=SEED if temperature else None,
            **sampling,
        )
        try:
            (request_id,) = self._llm.enqueue([prompt], params, use_tqdm=False)
        except self._refusals as error:  # the prompt is too long, or malformed
            msg = (
                f"segment {request.segment.index} of {request.segment.duration_s:.1f} s: {error}; "
                "raise --max-model-len, or lower --chunk-seconds or the context"
            )
            raise SegmentError(msg) from error
        # What comes back bears the number alone; `enqueue` may add a random suffix to it.
        self._requests[request_id.partition("-")[0]] = request

    def _prompt(self, request: _Request, audio: Waveform | Features) -> Any:
        segment = request.segment
        given = _ready_made(audio) if audio.ndim == 2 else (audio, SAMPLE_RATE)
        if self._model_type == "qwen3_asr":
            text = qwen3_asr_prompt(segment.language, segment.context)
            return {"prompt": text, "multi_modal_data": {"audio": given}}
        if self._model_type == "whisper":
            language = None if self._english_only else request.language
            return {
                "encoder_prompt": {
                    "prompt": "",
                    "multi_modal_data": {"audio": given},
                },
                "decoder_prompt": whisper_prompt(language, segment.context),
            }
        from vllm.config.speech_to_text import SpeechToTextParams

        return self._model.get_generation_prompt(
            SpeechToTextParams(
                audio=audio,
                stt_config=self._stt_config,
                model_config=self._model_config,
                language=request.language,
                request_prompt=segment.context or "",
            )
        )

    def _answer(self, output: Any) -> Hypothesis | None:
        """Turn a finished request into a hypothesis; None where it only found the language."""
        request = self._requests.pop(output.request_id)
        completion = output.outputs[0]
        if request.detecting and request.waveform is not None:
            tokenizer = self._llm.get_tokenizer()
            request.language = self._model.parse_language_detection_output(
                list(completion.token_ids), tokenizer
            )
            request.detecting, waveform, request.waveform = False, request.waveform, None
            self._ask(request, waveform)
            return None
        text, language = completion.text, request.language
        if self._model_type == "qwen3_asr":
            text, language = parse_qwen3_asr(text, request.segment.language)
        else:
            text = self._model.post_process_output(text)
        return Hypothesis(
            recording_id=request.segment.recording_id,
            index=request.segment.index,
            text=text.strip(),
            language=language,
            finish_reason=completion.finish_reason or "stop",
            tokens=tuple(completion.token_ids),
            latency_s=time.perf_counter() - request.submitted,
            first_token_s=getattr(output.metrics, "first_token_latency", None),
        )

    def _language_tokens(self) -> list[int]:
        tokens: list[int] = self._model.get_language_token_ids(self._llm.get_tokenizer())
        return tokens


def _ready_made(features: Features) -> dict[str, Any]:
    """Features for vLLM's own processor to pass over (`Qwen3ASRMultiModalDataParser`).

    It calls the mask optional, but the model wants it. No copy is made here.
    """
    import torch

    num_frames = features.shape[1]
    return {
        "input_audio_features": torch.from_numpy(features),
        "audio_feature_lengths": torch.tensor([num_frames]),
        "feature_attention_mask": torch.ones((1, num_frames), dtype=torch.int64),
    }


def _model_type(spec: ModelSpec) -> str:
    path: Path | None = spec.path
    config = json.loads((path / "config.json").read_text("utf-8")) if path else {}
    return str(config.get("model_type", ""))


def _load(settings: dict[str, Any], *, on_gpu: bool) -> Any:
    _set_environment(on_gpu)
    from vllm import LLM, EngineArgs

    unknown = settings.keys() - {field.name for field in fields(EngineArgs)}
    if unknown:
        msg = f"vllm: {', '.join(sorted(unknown))} is no setting of this vLLM; see `vllm serve --help`"
        raise ConfigError(msg)
    try:
        return LLM(**settings, use_tqdm_on_load=False)
    except Exception as error:  # its configuration, its model code and torch raise all kinds
        reason = " ".join(str(error).split())  # pydantic's has many lines
        msg = f"vLLM cannot start with {settings['model']}: {reason}"
        raise EngineError(msg) from error


def _refusals() -> tuple[type[Exception], ...]:
    """What vLLM raises for a request that it refuses; it stays usable."""
    from vllm import exceptions

    # A ValueError until 0.31, then a class of its own.
    return (ValueError, getattr(exceptions, "VLLMClientError", ValueError))


def _set_environment(on_gpu: bool) -> None:
    """Defaults that vLLM reads from the environment; what the user set stays."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    if not on_gpu:
        # In one process it starts in a seventh of the time; a GPU wants the two to overlap.
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
