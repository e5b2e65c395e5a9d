"""Every good format and every bad kind of file, made from one real clip.

Each maker takes a directory and returns the path of the file that it made there. What
libsndfile cannot write is written by the ffmpeg that comes with `imageio-ffmpeg`, so that
nothing needs to be installed on the machine.
"""

import random
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import soundfile

CLIP = Path(__file__).parent / "data" / "speech" / "austen-0920.wav"
"""6 s of speech, 16 kHz, mono, 16 bits."""

CLIP_SAMPLES = 96_800

WAV_HEADER_BYTES = 44
DATA_SIZE_AT = 40
CHANNELS_AT = 22
RATE_AT = 24

ABSURD_RATE = 1_092_676
"""Hz; seen in the wild, in a damaged header."""


def clip():
    """The samples of the clip, float32."""
    samples, _ = soundfile.read(CLIP, dtype="float32")
    return samples


def ffmpeg(*arguments):
    """Run ffmpeg; raises where it fails."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "error", "-y", *arguments]
    return subprocess.run([str(word) for word in command], check=True, capture_output=True).stdout


def with_soundfile(name, subtype, container, directory, rate=16_000, samples=None):
    path = directory / name
    soundfile.write(
        path, clip() if samples is None else samples, rate, subtype=subtype, format=container
    )
    return path


def with_ffmpeg(name, arguments, directory, inputs=("-i", CLIP)):
    path = directory / name
    ffmpeg(*inputs, *arguments.split(), path)
    return path


def through_pipe(name, arguments, directory):
    """As a shell pipe leaves it: the length was not known when the header was written."""
    path = directory / name
    path.write_bytes(ffmpeg("-i", CLIP, *arguments.split(), "pipe:1"))
    return path


def wav_with(name, changes, directory):
    """The clip with little-endian fields of its header changed: {position: (value, bytes)}."""
    content = bytearray(CLIP.read_bytes())
    for position, (value, width) in changes.items():
        content[position : position + width] = value.to_bytes(width, "little")
    path = directory / name
    path.write_bytes(content)
    return path


MOVING_PICTURE = ("-f", "lavfi", "-i", "testsrc=size=64x64:duration=6:rate=5")


def with_cover(name, arguments, directory):
    """The clip with a picture, which the libraries see as a track of video."""
    picture = directory / "cover.jpg"
    ffmpeg("-f", "lavfi", "-i", "color=red:size=64x64", "-frames:v", "1", picture)
    return with_ffmpeg(
        name,
        f"-map 0:a -map 1:v -c:v copy -disposition:v:0 attached_pic {arguments}",
        directory,
        inputs=("-i", CLIP, "-i", picture),
    )


def film(name, arguments, directory):
    """A file whose first track is a picture and whose second is the clip."""
    return with_ffmpeg(
        name,
        f"-map 1:v -map 0:a {arguments}",
        directory,
        inputs=("-i", CLIP, *MOVING_PICTURE),
    )


GOOD_FORMATS: dict[str, Callable[[Path], Path]] = {
    "wav 8 bit": partial(with_soundfile, "u8.wav", "PCM_U8", "WAV"),
    "wav 16 bit": partial(with_soundfile, "s16.wav", "PCM_16", "WAV"),
    "wav 24 bit": partial(with_soundfile, "s24.wav", "PCM_24", "WAV"),
    "wav 32 bit": partial(with_soundfile, "s32.wav", "PCM_32", "WAV"),
    "wav float32": partial(with_soundfile, "f32.wav", "FLOAT", "WAV"),
    "wav float64": partial(with_soundfile, "f64.wav", "DOUBLE", "WAV"),
    "wav a-law": partial(with_soundfile, "alaw.wav", "ALAW", "WAV"),
    "wav mu-law": partial(with_soundfile, "ulaw.wav", "ULAW", "WAV"),
    "wav ima adpcm": partial(with_soundfile, "ima.wav", "IMA_ADPCM", "WAV"),
    "wav ms adpcm": partial(with_soundfile, "ms.wav", "MS_ADPCM", "WAV"),
    "wav ima adpcm by ffmpeg": partial(with_ffmpeg, "ima2.wav", "-c:a adpcm_ima_wav"),
    "wav extensible": partial(with_soundfile, "wavex.wav", "PCM_24", "WAVEX"),
    "wav rf64": partial(with_soundfile, "rf64.wav", "PCM_16", "RF64"),
    "wav rf64 by ffmpeg": partial(with_ffmpeg, "rf64-2.wav", "-rf64 always"),
    "wav from a pipe": partial(through_pipe, "pipe.wav", "-f wav"),
    "wav of size 0": partial(wav_with, "size0.wav", {4: (0, 4), DATA_SIZE_AT: (0, 4)}),
    "wav of size 0xFFFFFFFF": partial(wav_with, "sizef.wav", {DATA_SIZE_AT: (0xFFFFFFFF, 4)}),
    "wav of size 0x7FFFFFFF": partial(wav_with, "size7f.wav", {DATA_SIZE_AT: (0x7FFFFFFF, 4)}),
    "wav of size 0x7FFFF000": partial(wav_with, "size7f0.wav", {DATA_SIZE_AT: (0x7FFFF000, 4)}),
    "w64": partial(with_soundfile, "s16.w64", "PCM_16", "W64"),
    "w64 from a pipe": partial(through_pipe, "pipe.w64", "-f w64"),
    "flac": partial(with_soundfile, "s16.flac", "PCM_16", "FLAC"),
    "flac with cover": partial(with_cover, "cover.flac", "-c:a flac"),
    "flac from a pipe": partial(through_pipe, "pipe.flac", "-f flac"),
    "mp3": partial(with_soundfile, "clip.mp3", "MPEG_LAYER_III", "MP3"),
    "mp3 by ffmpeg": partial(with_ffmpeg, "clip2.mp3", "-c:a libmp3lame -q:a 2"),
    "mp3 from a pipe": partial(through_pipe, "pipe.mp3", "-f mp3 -ar 44100 -b:a 96k"),
    "mp3 with cover": partial(with_cover, "cover.mp3", "-c:a libmp3lame"),
    "ogg vorbis": partial(with_soundfile, "clip.ogg", "VORBIS", "OGG"),
    "ogg vorbis by ffmpeg": partial(with_ffmpeg, "clip2.ogg", "-c:a libvorbis"),
    "ogg opus": partial(with_soundfile, "clip.opus", "OPUS", "OGG"),
    "ogg opus by ffmpeg": partial(with_ffmpeg, "clip2.opus", "-c:a libopus"),
    "ogg flac": partial(with_ffmpeg, "flac.oga", "-c:a flac"),
    "m4a": partial(with_ffmpeg, "clip.m4a", "-c:a aac"),
    "m4a 44.1 kHz, index first": partial(
        with_ffmpeg, "fast.m4a", "-c:a aac -ar 44100 -ac 2 -movflags +faststart"
    ),
    "m4a fragmented": partial(
        with_ffmpeg, "fragments.m4a", "-c:a aac -movflags +frag_keyframe+empty_moov"
    ),
    "m4a with cover": partial(with_cover, "cover.m4a", "-c:a aac"),
    "m4a alac": partial(with_ffmpeg, "alac.m4a", "-c:a alac"),
    "aac": partial(with_ffmpeg, "clip.aac", "-c:a aac"),
    "aiff": partial(with_soundfile, "clip.aiff", "PCM_16", "AIFF"),
    "aiff by ffmpeg": partial(with_ffmpeg, "clip2.aiff", "-c:a pcm_s24be"),
    "au": partial(with_soundfile, "clip.au", "PCM_16", "AU"),
    "au from a pipe": partial(through_pipe, "pipe.au", "-f au"),
    "caf": partial(with_soundfile, "clip.caf", "PCM_16", "CAF"),
    "caf alac": partial(with_soundfile, "alac.caf", "ALAC_16", "CAF"),
    "sphere": partial(with_soundfile, "clip.sph", "PCM_16", "NIST"),
    "sphere mu-law": partial(with_soundfile, "ulaw.sph", "ULAW", "NIST"),
    "wma": partial(with_ffmpeg, "clip.wma", "-c:a wmav2"),
    "amr": partial(with_ffmpeg, "clip.amr", "-ar 8000 -ac 1 -c:a libopencore_amrnb"),
    "3gp": partial(with_ffmpeg, "clip.3gp", "-ar 8000 -ac 1 -c:a libopencore_amrnb"),
    "mp4": partial(film, "film.mp4", "-c:v mpeg4 -c:a aac"),
    "mkv": partial(film, "film.mkv", "-c:v mpeg4 -c:a libmp3lame"),
    "mkv pcm": partial(with_ffmpeg, "pcm.mkv", "-c:a pcm_s16le"),
    "webm": partial(film, "film.webm", "-c:v libvpx -c:a libopus"),
    "webm from a pipe": partial(through_pipe, "pipe.webm", "-f webm -c:a libopus"),
    "mpeg-ts": partial(with_ffmpeg, "clip.ts", "-c:a aac"),
    "wavpack": partial(with_ffmpeg, "clip.wv", "-c:a wavpack"),
}
"""What a file of each format holds is the clip: {description: maker}."""


def written(name, content, directory):
    path = directory / name
    path.write_bytes(content)
    return path


def header_only(directory):
    return written("header-only.wav", CLIP.read_bytes()[:WAV_HEADER_BYTES], directory)


def cut_in_the_middle(name, directory, make, keep=0.5):
    """The first part of what another maker makes."""
    whole = make(directory)
    content = whole.read_bytes()
    whole.unlink()
    return written(name, content[: int(len(content) * keep)], directory)


def directory_named_wav(directory):
    path = directory / "directory.wav"
    path.mkdir()
    return path


def nan_samples(directory):
    samples = clip()
    samples[32_000] = np.nan
    return with_soundfile("nan.wav", "FLOAT", "WAV", directory, samples=samples)


def no_audio_track(directory):
    return with_ffmpeg("silent-film.mp4", "-c:v mpeg4", directory, inputs=MOVING_PICTURE)


def encrypted(directory):
    key = "-encryption_key 76a6c65c5ea762046bd749a2e632ccbb"
    key_id = "-encryption_kid a7e61c373e219033c21091fa607bf3b8"
    return with_ffmpeg(
        "encrypted.mp4", f"-c:a aac -encryption_scheme cenc-aes-ctr {key} {key_id}", directory
    )


BAD_KINDS: dict[str, Callable[[Path], Path]] = {
    "empty": partial(written, "empty.wav", b""),
    "header_only": header_only,
    "truncated": partial(cut_in_the_middle, "truncated.wav", make=GOOD_FORMATS["wav 16 bit"]),
    "text_as_wav": partial(written, "text.wav", b"This is a letter, not a recording.\n" * 200),
    "random_bytes": partial(written, "random.wav", random.Random(1).randbytes(100_000)),
    "zero_channels": partial(wav_with, "no-channels.wav", {CHANNELS_AT: (0, 2)}),
    "absurd_rate": partial(wav_with, "absurd-rate.wav", {RATE_AT: (ABSURD_RATE, 4)}),
    "no_audio_track": no_audio_track,
    "directory": directory_named_wav,
    "nan_samples": nan_samples,
    "zero_samples": partial(
        with_soundfile, "no-samples.wav", "PCM_16", "WAV", samples=np.zeros(0, np.float32)
    ),
    "encrypted": encrypted,
}
"""What cannot be transcribed, or only in part (`truncated`): {kind: maker}."""
