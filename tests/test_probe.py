"""What the headers say, for good files and bad ones."""

import ctypes
import os
import subprocess
import sys

import pytest

from asrbatch.data import RawFormat
from asrbatch.errors import AudioProbeError
from asrbatch.probe import probe
from tests.audio_files import (
    BAD_KINDS,
    CLIP,
    CLIP_SAMPLES,
    GOOD_FORMATS,
    ffmpeg,
    wav_with,
    with_ffmpeg,
    written,
)

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2

NO_LENGTH = {
    "wav of size 0",
    "flac from a pipe",
    "mp3 from a pipe",
    "aac",
    "amr",
    "webm from a pipe",
    "mpeg-ts",
}
"""Formats whose headers do not say how long they are."""


def test_the_clip_is_described():
    info = probe(CLIP)
    assert (info.container, info.codec, info.sample_rate, info.channels, info.num_samples) == (
        "wav",
        "pcm_16",
        16_000,
        1,
        CLIP_SAMPLES,
    )


def test_size_and_time_are_those_of_the_file():
    info = probe(CLIP)
    stat = CLIP.stat()
    assert (info.num_bytes, info.mtime_ns) == (stat.st_size, stat.st_mtime_ns)


@pytest.mark.parametrize("form", GOOD_FORMATS)
def test_length_is_near_where_the_header_says_one(form, tmp_path):
    info = probe(GOOD_FORMATS[form](tmp_path))
    if form in NO_LENGTH:
        assert info.num_samples is None
    else:
        assert info.num_samples == pytest.approx(CLIP_SAMPLES, abs=4_000)


@pytest.mark.parametrize(
    ("form", "container", "codec"),
    [
        ("flac", "flac", "flac"),
        ("mp3", "mp3", "mp3"),
        ("ogg opus", "ogg", "opus"),
        ("m4a with cover", "mp4", "aac"),
        ("sphere", "sphere", "pcm_16"),
        ("webm", "matroska", "opus"),
    ],
)
def test_container_and_codec_have_short_names(form, container, codec, tmp_path):
    info = probe(GOOD_FORMATS[form](tmp_path))
    assert (info.container, info.codec) == (container, codec)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("empty", "the file is empty"),
        ("text_as_wav", "not audio"),
        ("random_bytes", "not audio"),
        ("zero_channels", "channels: 0 is not within 1 to 256"),
        ("absurd_rate", "sample rate: 1092676 Hz is not within 2000 to 768000 Hz"),
        ("no_audio_track", "no audio track: the mov file holds video"),
        ("directory", "cannot open the file: Is a directory"),
        ("encrypted", "the audio is encrypted"),
    ],
)
def test_bad_file_is_refused_with_its_reason(kind, message, tmp_path):
    with pytest.raises(AudioProbeError, match=message):
        probe(BAD_KINDS[kind](tmp_path))


def test_vanished_file_is_refused(tmp_path):
    with pytest.raises(AudioProbeError, match="cannot open the file: No such file"):
        probe(tmp_path / "vanished.wav")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.wav")
    with pytest.raises(AudioProbeError, match="pipe"):
        probe(tmp_path / "pipe.wav")


def test_number_of_a_wav_codec_need_not_be_text(tmp_path):
    with pytest.raises(AudioProbeError):
        probe(wav_with("aac.wav", {20: (0xFF, 2), 24: (0, 4)}, tmp_path))


def test_fairplay_is_refused(tmp_path):
    content = GOOD_FORMATS["m4a"](tmp_path).read_bytes().replace(b"mp4a", b"drms")
    with pytest.raises(AudioProbeError, match="encrypted"):
        probe(written("bought.m4p", content, tmp_path))


def test_index_that_was_never_written_is_named(tmp_path):
    content = GOOD_FORMATS["m4a"](tmp_path).read_bytes()
    with pytest.raises(AudioProbeError, match="cut off before its index"):
        probe(written("cut.m4a", content[: len(content) // 2], tmp_path))


def test_track_without_decoder_is_refused(tmp_path):
    content = with_ffmpeg("pcm.mkv", "-c:a pcm_s16le", tmp_path).read_bytes()
    path = written("strange.mkv", content.replace(b"A_PCM/INT/LIT", b"A_STRANGE/ONE"), tmp_path)
    with pytest.raises(AudioProbeError, match="no decoder"):
        probe(path)


def test_playlist_is_refused(tmp_path):
    ffmpeg("-i", CLIP, "-c:a", "aac", "-f", "hls", tmp_path / "list.m3u8")
    with pytest.raises(AudioProbeError, match="playlist"):
        probe(tmp_path / "list.m3u8")


def test_length_that_the_bytes_cannot_hold_is_unknown(tmp_path):
    content = GOOD_FORMATS["sphere"](tmp_path).read_bytes()
    hours = content.replace(b"sample_count -i 96800\n", b"sample_count -i 9" + b"9" * 9 + b"\n")
    assert probe(written("hours.sph", hours, tmp_path)).num_samples is None


def test_second_link_of_another_stream_makes_the_length_unknown(tmp_path):
    vorbis = GOOD_FORMATS["ogg vorbis"](tmp_path).read_bytes()
    opus = GOOD_FORMATS["ogg opus"](tmp_path).read_bytes()
    assert probe(written("chained.ogg", vorbis + opus, tmp_path)).num_samples is None


def test_headerless_file_asks_for_its_format(tmp_path):
    with pytest.raises(AudioProbeError, match="--raw-format s16le:16000:1"):
        probe(written("call.raw", b"\0" * 32_000, tmp_path))


def test_headerless_file_is_measured_by_its_size(tmp_path):
    info = probe(written("call.PCM", b"\0" * 48_000, tmp_path), RawFormat("s24le", 8_000, 2))
    assert (info.codec, info.channels, info.num_samples) == ("pcm_s24le", 2, 16_000)


@pytest.mark.parametrize("rate", [0, 1_999, 768_001])
def test_rate_out_of_range_is_refused(rate, tmp_path):
    with pytest.raises(AudioProbeError):
        probe(wav_with("rate.wav", {24: (rate, 4)}, tmp_path))


@pytest.mark.parametrize("name", ["a:b.wav", "http:x.wav", "line\nbreak.wav", "caf\udce9.wav"])
def test_odd_names_are_names_of_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for form in ("wav 16 bit", "m4a"):
        path = type(tmp_path)(name)
        path.write_bytes(GOOD_FORMATS[form](tmp_path).read_bytes())
        assert probe(path).num_samples == CLIP_SAMPLES


def _without_privilege():
    """As root, give up reading what the permissions forbid."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_permission_is_named(tmp_path):
    path = GOOD_FORMATS["wav 16 bit"](tmp_path)
    path.chmod(0)
    script = "import sys, pathlib, asrbatch.probe as p; p.probe(pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", script, path],
        preexec_fn=_without_privilege,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert "AudioProbeError: cannot open the file: Permission denied" in done.stderr


def test_libraries_are_silent(tmp_path, capfd):
    for kind, make in BAD_KINDS.items():
        if kind in ("text_as_wav", "random_bytes", "no_audio_track", "encrypted"):
            with pytest.raises(AudioProbeError):
                probe(make(tmp_path))
    assert capfd.readouterr() == ("", "")
