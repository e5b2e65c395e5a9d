"""The samples of every good format, and what is said of files that hold less or more."""

from functools import partial

import numpy as np
import pytest
import soundfile

from asrbatch.data import AudioInfo, RawFormat, Source
from asrbatch.decode import decode, parse_raw_format
from asrbatch.errors import AudioDecodeError, ConfigError
from asrbatch.probe import probe
from tests.audio_files import (
    BAD_KINDS,
    CLIP,
    CLIP_SAMPLES,
    GOOD_FORMATS,
    clip,
    cut_in_the_middle,
    with_ffmpeg,
    with_soundfile,
    written,
)

LOSSLESS = [
    *("wav 16 bit", "wav 24 bit", "wav 32 bit", "wav float32", "wav float64", "wav extensible"),
    *("wav rf64", "wav from a pipe", "wav of size 0", "wav of size 0xFFFFFFFF"),
    *("wav of size 0x7FFFFFFF", "w64", "flac", "flac with cover", "flac from a pipe"),
    *("ogg flac", "m4a alac", "aiff", "au", "caf", "caf alac", "sphere", "mkv pcm", "wavpack"),
]

MAX_ERROR = {"amr": 1.0, "3gp": 1.0, "m4a 44.1 kHz, index first": 0.35}
"""Root mean square of the error over that of the clip; the rest stays below 0.2."""

WHOLE = [form for form in GOOD_FORMATS if not form.startswith(("amr", "3gp"))]

CUT_FORMATS = [
    *("wav 16 bit", "wav ima adpcm", "wav rf64", "w64", "aiff", "au", "caf", "sphere"),
    *("flac", "flac from a pipe", "mp3", "ogg vorbis", "ogg opus", "ogg flac", "wma", "amr", "aac"),
    *("m4a 44.1 kHz, index first", "m4a fragmented", "mkv", "webm", "wavpack"),
]
"""All of which show that they were cut: an MP3 without a Xing header and MPEG-TS do not."""


def read(path, raw=None, **part):
    """Samples and flags of a file, or of a part of it."""
    stream = decode(Source(path, path.name, **part), probe(path, raw), raw)
    samples = np.concatenate(list(stream))
    assert stream.num_samples == len(samples)
    return samples, stream.flags


def error_of(samples, reference):
    """Error over signal, at the delay where they are most alike (codecs put samples before)."""
    size = 1 << (len(samples) + len(reference)).bit_length()
    spectrum = np.fft.rfft(samples, size) * np.conj(np.fft.rfft(reference, size))
    delay = int(np.argmax(np.fft.irfft(spectrum, size)))
    delay -= size if delay > size // 2 else 0
    assert abs(delay) < 3_200
    left, right = samples[max(0, delay) :], reference[max(0, -delay) :]
    shared = min(len(left), len(right))
    difference = left[:shared] - right[:shared]
    return np.sqrt(np.mean(difference**2) / np.mean(reference**2))


def concatenated(name, directory, *parts):
    return written(name, b"".join(part.read_bytes() for part in parts), directory)


@pytest.mark.parametrize("form", GOOD_FORMATS)
def test_good_format_gives_the_clip_and_no_flags(form, tmp_path):
    samples, flags = read(GOOD_FORMATS[form](tmp_path))
    assert flags == ()
    assert len(samples) == pytest.approx(CLIP_SAMPLES, abs=1_600)
    assert error_of(samples, clip()) < MAX_ERROR.get(form, 0.2)


@pytest.mark.parametrize("form", LOSSLESS)
def test_lossless_format_gives_the_clip_exactly(form, tmp_path):
    samples, _ = read(GOOD_FORMATS[form](tmp_path))
    np.testing.assert_array_equal(samples, clip())


def test_blocks_are_float32_and_bounded(tmp_path):
    path = with_soundfile("long.wav", "PCM_16", "WAV", tmp_path, samples=np.tile(clip(), 5))
    blocks = list(decode(Source(path, "long.wav"), probe(path)))
    assert {(block.dtype, block.ndim) for block in blocks} == {(np.dtype(np.float32), 1)}
    assert max(map(len, blocks)) <= 160_000


def test_unsigned_bytes_are_centred(tmp_path):
    path = written("bytes.raw", bytes([0, 128, 255]), tmp_path)
    samples, _ = read(path, RawFormat("u8", 16_000, 1))
    assert samples.tolist() == [-1.0, 0.0, 127 / 128]


@pytest.mark.parametrize("encoding", ["s16le", "s16be", "f32le", "f32be"])
def test_headerless_file_is_read_as_told(encoding, tmp_path):
    order = ">" if encoding.endswith("be") else "<"
    values = clip() * (32_768 if encoding.startswith("s16") else 1)
    content = values.astype(f"{order}{encoding[0].replace('s', 'i')}{int(encoding[1:3]) // 8}")
    samples, flags = read(
        written("call.raw", content.tobytes(), tmp_path), RawFormat(encoding, 16_000, 1)
    )
    np.testing.assert_array_equal(samples, clip())
    assert flags == ()


def test_raw_format_is_parsed():
    assert parse_raw_format("s16le:8000:2") == RawFormat("s16le", 8_000, 2)


@pytest.mark.parametrize("text", ["", "s16le", "s16le:16000", "s17le:16000:1", "s16le:0:1"])
def test_raw_format_that_is_none_is_refused_with_an_example(text):
    with pytest.raises(ConfigError, match="s16le:16000:1"):
        parse_raw_format(text)


@pytest.mark.parametrize("rate", [2_000, 8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 44_101])
def test_resampled_length_is_right_to_a_sample(rate, tmp_path):
    path = with_soundfile("rate.wav", "PCM_16", "WAV", tmp_path, rate=rate)
    samples, flags = read(path)
    assert abs(len(samples) - CLIP_SAMPLES * 16_000 / rate) <= 1
    assert flags == ()


def test_tone_keeps_pitch_level_and_place_when_resampled(tmp_path):
    seconds = np.arange(12 * 44_100) / 44_100
    tone = 0.5 * np.sin(2 * np.pi * 440 * seconds)
    samples, _ = read(
        with_soundfile("tone.wav", "FLOAT", "WAV", tmp_path, rate=44_100, samples=tone)
    )
    expected = 0.5 * np.sin(2 * np.pi * 440 * np.arange(12 * 16_000) / 16_000)
    np.testing.assert_allclose(samples[800:-800], expected[800:-800], atol=1e-4)


def test_channels_are_averaged(tmp_path):
    left = clip()
    path = with_soundfile(
        "stereo.wav", "FLOAT", "WAV", tmp_path, samples=np.stack([left, 0 * left], axis=1)
    )
    samples, _ = read(path)
    np.testing.assert_array_equal(samples, left / 2)


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_one_channel_is_taken(channel, tmp_path):
    three = np.stack([clip(), -clip(), clip() / 2], axis=1)
    path = with_soundfile("three.wav", "FLOAT", "WAV", tmp_path, samples=three)
    samples, _ = read(path, channel=channel)
    np.testing.assert_array_equal(samples, three[:, channel])


def test_channel_that_is_not_there_is_refused():
    with pytest.raises(AudioDecodeError, match=r"channel 1 is not there: .* only channel 0"):
        read(CLIP, channel=1)


@pytest.mark.parametrize(
    "form", ["wav 16 bit", "flac", "mp3", "ogg vorbis", "m4a", "wav of size 0"]
)
def test_span_is_that_part_of_the_whole(form, tmp_path):
    path = GOOD_FORMATS[form](tmp_path)
    whole, _ = read(path)
    samples, flags = read(path, start_sample=30_001, num_samples=20_000)
    np.testing.assert_array_equal(samples, whole[30_001:50_001])
    assert flags == ()


@pytest.mark.parametrize("rate", [8_000, 11_025, 44_100])
def test_span_of_a_resampled_file_is_that_part_of_the_whole(rate, tmp_path):
    long = np.tile(clip(), 6)
    path = with_soundfile("long.flac", "PCM_16", "FLAC", tmp_path, rate=rate, samples=long)
    whole, _ = read(path)
    samples, _ = read(path, start_sample=123_457, num_samples=40_000)
    np.testing.assert_allclose(samples, whole[123_457:163_457], atol=1e-5)


def test_span_to_the_end_reaches_the_end():
    samples, flags = read(CLIP, start_sample=80_000)
    np.testing.assert_array_equal(samples, clip()[80_000:])
    assert flags == ()


def test_span_beyond_the_end_is_refused():
    with pytest.raises(AudioDecodeError, match=r"from 12.500 s on is beyond .* at 6.050 s"):
        read(CLIP, start_sample=200_000)


def test_span_that_promises_more_than_there_is_is_flagged():
    samples, flags = read(CLIP, start_sample=40_000, num_samples=80_000)
    assert (len(samples), flags) == (CLIP_SAMPLES - 40_000, ("truncated",))


@pytest.mark.parametrize("form", CUT_FORMATS)
def test_cut_file_gives_what_is_there_and_is_flagged(form, tmp_path):
    whole = GOOD_FORMATS[form](tmp_path)
    path = cut_in_the_middle(f"cut-{whole.name}", tmp_path, GOOD_FORMATS[form])
    samples, flags = read(path)
    assert flags == ("truncated",)
    assert 0.3 * CLIP_SAMPLES < len(samples) < 0.7 * CLIP_SAMPLES


def test_cut_ogg_keeps_its_last_whole_page(tmp_path):
    path = cut_in_the_middle("cut.ogg", tmp_path, GOOD_FORMATS["ogg vorbis"], keep=0.99)
    samples, flags = read(path)
    assert flags == ("truncated",)
    assert len(samples) > 0.8 * CLIP_SAMPLES


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (partial(with_ffmpeg, "a.ogg", "-c:a libvorbis"),) * 2,
        (
            partial(with_ffmpeg, "a.ogg", "-c:a libvorbis"),
            partial(with_ffmpeg, "b.ogg", "-c:a libvorbis -ar 44100 -ac 2"),
        ),
        (
            partial(with_ffmpeg, "a.opus", "-c:a libopus"),
            partial(with_ffmpeg, "b.opus", "-c:a libopus -ac 2"),
        ),
        (
            partial(with_ffmpeg, "a.oga", "-c:a flac"),
            partial(with_ffmpeg, "b.ogg", "-c:a libvorbis -ar 8000"),
        ),
    ],
    ids=["same", "other rate", "other channels", "other codec"],
)
def test_every_link_of_a_chained_ogg_is_read(first, second, tmp_path):
    path = concatenated("chained.ogg", tmp_path, first(tmp_path), second(tmp_path))
    samples, flags = read(path)
    assert len(samples) == pytest.approx(2 * CLIP_SAMPLES, abs=2)
    assert error_of(samples[CLIP_SAMPLES:], clip()) < 0.5
    assert flags == ()


def test_link_that_does_not_decode_is_flagged(tmp_path):
    first = GOOD_FORMATS["ogg vorbis"](tmp_path).read_bytes()
    second = GOOD_FORMATS["ogg opus"](tmp_path).read_bytes().replace(b"OpusHead", b"NopeHead")
    samples, flags = read(written("chained.ogg", first + second, tmp_path))
    assert (len(samples), flags) == (CLIP_SAMPLES, ("truncated",))


def test_span_of_a_chained_ogg_reaches_into_its_second_link(tmp_path):
    link = GOOD_FORMATS["ogg vorbis"](tmp_path)
    path = concatenated("chained.ogg", tmp_path, link, link)
    whole, _ = read(path)
    samples, _ = read(path, start_sample=80_000, num_samples=20_000)
    np.testing.assert_array_equal(samples, whole[80_000:100_000])


@pytest.mark.parametrize("arguments", ["", "-ar 44100", "-ac 2"])
def test_two_flac_files_in_one_are_both_read(arguments, tmp_path):
    first = with_ffmpeg("a.flac", "", tmp_path)
    path = concatenated("two.flac", tmp_path, first, with_ffmpeg("b.flac", arguments, tmp_path))
    samples, flags = read(path)
    np.testing.assert_array_equal(samples[:CLIP_SAMPLES], clip())
    assert len(samples) == 2 * CLIP_SAMPLES
    assert error_of(samples[CLIP_SAMPLES:], clip()) < 0.3
    assert flags == ()


def test_two_mp3_files_of_other_rates_are_both_read(tmp_path):
    first = with_ffmpeg("a.mp3", "-c:a libmp3lame", tmp_path)
    second = with_ffmpeg("b.mp3", "-c:a libmp3lame -ar 44100 -ac 2", tmp_path)
    samples, flags = read(concatenated("two.mp3", tmp_path, first, second))
    assert len(samples) == pytest.approx(2 * CLIP_SAMPLES, abs=3_200)
    assert error_of(samples[CLIP_SAMPLES:], clip()) < 0.5
    assert flags == ("duration_mismatch",)


def test_hours_declared_for_seconds_are_a_mismatch(tmp_path):
    content = bytearray(GOOD_FORMATS["flac"](tmp_path).read_bytes())
    content[21] |= 0x0F  # the total of STREAMINFO, 36 bits from the middle of its byte 13
    _, flags = read(written("hours.flac", content, tmp_path))
    assert flags == ("duration_mismatch",)


def test_damage_in_the_middle_costs_only_the_damaged_part(tmp_path):
    content = bytearray(GOOD_FORMATS["flac"](tmp_path).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 9_000] = bytes(9_000)
    samples, flags = read(written("damaged.flac", content, tmp_path))
    assert flags == ("truncated",)
    assert len(samples) > 0.7 * CLIP_SAMPLES


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("header_only", "no samples"),
        ("zero_samples", "no samples"),
        ("nan_samples", r"a sample at 2.000 s is infinite or not a number"),
    ],
)
def test_bad_kind_is_refused_with_its_reason(kind, message, tmp_path):
    with pytest.raises(AudioDecodeError, match=message):
        read(BAD_KINDS[kind](tmp_path))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_infinite_samples_are_refused(value, tmp_path):
    samples = clip().astype(np.float64)
    samples[8_000] = value
    with pytest.raises(AudioDecodeError, match=r"0.500 s"):
        read(with_soundfile("inf.wav", "DOUBLE", "WAV", tmp_path, samples=samples))


def test_file_that_vanished_after_probing_is_refused(tmp_path):
    path = GOOD_FORMATS["mp3"](tmp_path)
    info = probe(path)
    path.unlink()
    with pytest.raises(AudioDecodeError, match="cannot open the file: No such file"):
        list(decode(Source(path, "clip.mp3"), info))


def test_encrypted_audio_is_refused_also_where_the_headers_hid_it(tmp_path):
    path = BAD_KINDS["encrypted"](tmp_path)
    info = AudioInfo(path.stat().st_size, 0, "mp4", "aac", 16_000, 1, None)
    with pytest.raises(AudioDecodeError, match="encrypted"):
        list(decode(Source(path, "encrypted.mp4"), info))


def test_libraries_are_silent_about_damage(tmp_path, capfd):
    for form in ("mp3", "flac", "ogg vorbis", "aac", "mkv"):
        whole = GOOD_FORMATS[form](tmp_path)
        read(cut_in_the_middle(f"cut-{whole.name}", tmp_path, GOOD_FORMATS[form]))
    assert capfd.readouterr() == ("", "")


def test_longest_real_clip_agrees_with_libsndfile():
    path = CLIP.parent / "jfk.flac"
    samples, flags = read(path)
    assert (len(samples), flags) == (round(soundfile.info(path).duration * 16_000), ())
