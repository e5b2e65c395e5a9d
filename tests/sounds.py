"""Recordings without speech, each from a formula and a seed."""

import numpy as np

RATE = 16_000
SECONDS = 20


def coloured_noise(exponent, level_db, seed):
    """Noise whose power falls with frequency to the power of `exponent`."""
    rng = np.random.default_rng(seed)
    spectrum = np.fft.rfft(rng.normal(0, 1, SECONDS * RATE))
    frequencies = np.fft.rfftfreq(SECONDS * RATE, 1 / RATE)
    frequencies[0] = frequencies[1]
    return at_level(np.fft.irfft(spectrum * frequencies ** (-exponent / 2)), level_db)


def at_level(signal, level_db):
    """The signal at so many dB below full scale (RMS)."""
    rms = np.sqrt(np.mean(signal**2))
    return np.clip(signal / rms * 10 ** (level_db / 20), -1, 1).astype(np.float32)


def times():
    return np.arange(SECONDS * RATE) / RATE


def hum():
    t = times()
    return at_level(sum(np.sin(2 * np.pi * 50 * k * t) / k for k in (1, 2, 3, 4, 6)), -30)


def dial_tones():
    """DTMF: digits of 0.2 s with 0.2 s between them."""
    rows, columns = (697, 770, 852, 941), (1209, 1336, 1477)
    rng = np.random.default_rng(1)
    t = np.arange(RATE // 5) / RATE
    pieces = []
    for _ in range(SECONDS * 5 // 2):
        low, high = rng.choice(rows), rng.choice(columns)
        tone = np.sin(2 * np.pi * low * t) + np.sin(2 * np.pi * high * t)
        pieces += [tone, np.zeros_like(t)]
    return at_level(np.concatenate(pieces), -20)


def sweep():
    t = times()
    return at_level(np.sin(2 * np.pi * (50 * t + (7950 / SECONDS) * t**2 / 2)), -20)


def clicks():
    signal = np.zeros(SECONDS * RATE)
    signal[:: RATE // 3] = 0.9
    return signal.astype(np.float32)


def plucked_strings():
    """A chord progression on plucked strings (Karplus and Strong, 1983)."""
    rng = np.random.default_rng(2)
    signal = np.zeros(SECONDS * RATE)
    chords = ((110, 165, 220, 277), (147, 220, 294, 370), (98, 147, 196, 247), (110, 165, 220, 330))
    for beat in range(SECONDS * 2):
        for string in chords[beat // 4 % 4]:
            start = beat * RATE // 2 + int(rng.integers(0, 400))
            note = pluck(string, rng)[: len(signal) - start]
            signal[start : start + len(note)] += note
    return at_level(signal, -20)


def pluck(frequency, rng):
    from scipy.signal import lfilter

    period = round(RATE / frequency)
    burst = np.zeros(RATE)
    burst[:period] = rng.uniform(-1, 1, period)
    feedback = np.zeros(period + 2)
    feedback[0], feedback[period], feedback[period + 1] = 1, -0.498, -0.498
    return lfilter([1], feedback, burst)


WITHOUT_SPEECH = {
    "digital silence": lambda: np.zeros(SECONDS * RATE, np.float32),
    "room tone": lambda: coloured_noise(1.5, -65, 3),
    "white noise": lambda: coloured_noise(0, -30, 4),
    "pink noise": lambda: coloured_noise(1, -30, 5),
    "brown noise": lambda: coloured_noise(2, -30, 6),
    "hum": hum,
    "dial tones": dial_tones,
    "sweep": sweep,
    "clicks": clicks,
    "plucked strings": plucked_strings,
}
