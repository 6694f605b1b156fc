"""Compose sounds: a slow progression of chords with plucked notes and, by the sea, the sea."""

import io
import re
import wave
from collections.abc import Callable
from random import Random

import numpy as np
import numpy.typing as npt

from standins.studio.params import AudioParams

RATE = 44_100
Wave = npt.NDArray[np.float32]
MAJOR, MINOR = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10)
TURNS = ((0, 5, 3, 4), (0, 3, 4, 0), (0, 4, 5, 3), (5, 3, 0, 4), (0, 2, 3, 4))
DARK = r"\b(sad|dark|night|minor|melanchol|tense|storm|rain|slow|calm|ambient|mystery)"
WATER = r"\b(sea|wave|ocean|harbou?r|coast|beach|water|shore|rain|wind|gull)"


def draw_sound(params: AudioParams, seed: int, reach: Callable[[float], None]) -> bytes:
    """A 16-bit stereo WAV file, exactly `params.seconds` long. `reach` is called with the fraction done."""
    random = Random(seed)
    length = params.seconds * RATE
    scale = MINOR if re.search(DARK, params.prompt, re.IGNORECASE) else random.choice((MAJOR, MAJOR, MINOR))
    root = 110.0 * 2 ** (random.randrange(-3, 5) / 12)
    turn = random.choice(TURNS)
    beat = random.choice((0.5, 0.6, 0.4))
    left, right = np.zeros(length, np.float32), np.zeros(length, np.float32)
    bars = int(np.ceil(params.seconds / (4 * beat)))
    for bar in range(bars):
        reach(0.1 + 0.6 * bar / bars)
        degree = turn[bar % len(turn)]
        notes = [_pitch(root, scale, degree + step) for step in (0, 2, 4)]
        for number, note in enumerate(notes):
            pad = _pad(note, 4 * beat + 1.2) * 0.16
            _add(left, pad * (1.0 - 0.2 * number), bar * 4 * beat)
            _add(right, pad * (0.6 + 0.2 * number), bar * 4 * beat)
        _add(left, _pad(notes[0] / 2, 4 * beat + 0.6) * 0.2, bar * 4 * beat)
        _add(right, _pad(notes[0] / 2, 4 * beat + 0.6) * 0.2, bar * 4 * beat)
        for step in range(8):
            if random.random() < 0.72:
                pluck = _pluck(random.choice(notes) * random.choice((2, 2, 4)), 1.6) * random.uniform(0.1, 0.2)
                side = random.random()
                _add(left, pluck * (1 - side), (bar * 4 + step / 2) * beat)
                _add(right, pluck * side, (bar * 4 + step / 2) * beat)
    if re.search(WATER, params.prompt, re.IGNORECASE):
        left += _water(length, seed)
        right += _water(length, seed + 1)
    reach(0.8)
    return _wav(_roomy(left, seed), _roomy(right, seed + 7))


def _pitch(root: float, scale: tuple[int, ...], degree: int) -> float:
    return float(root * 2 ** (scale[degree % 7] / 12 + degree // 7))


def _pad(pitch: float, seconds: float) -> Wave:
    time = np.arange(int(seconds * RATE), dtype=np.float32) / RATE
    sound = np.zeros_like(time)
    for detune in (0.997, 1.0, 1.004):
        for harmonic in range(1, 6):
            sound += np.sin(2 * np.pi * pitch * detune * harmonic * time) / harmonic**1.8
    rise = np.minimum(1, time / 0.5) * np.minimum(1, (seconds - time) / 1.0)
    return np.asarray(sound / 3 * rise, np.float32)


def _pluck(pitch: float, seconds: float) -> Wave:
    time = np.arange(int(seconds * RATE), dtype=np.float32) / RATE
    sound = sum(np.sin(2 * np.pi * pitch * k * time) * np.exp(-time * (2.6 + 1.8 * k)) / k for k in (1, 2, 3, 4))
    return np.asarray(sound * np.minimum(1, time / 0.004), np.float32)


def _water(length: int, seed: int) -> Wave:
    noise = np.random.default_rng(seed).standard_normal(length).astype(np.float32)
    spectrum = np.fft.rfft(noise)
    spectrum *= 1 / (1 + (np.fft.rfftfreq(length, 1 / RATE) / 500) ** 1.4)
    rolled = np.fft.irfft(spectrum, length)
    time = np.arange(length, dtype=np.float32) / RATE
    swell = 0.35 + 0.65 * np.sin(2 * np.pi * time / 6.5 + seed % 7) ** 2
    return np.asarray(rolled / np.max(np.abs(rolled)) * swell * 0.22, np.float32)


def _roomy(sound: Wave, seed: int) -> Wave:
    time = np.arange(int(1.4 * RATE), dtype=np.float32) / RATE
    tail = np.random.default_rng(seed).standard_normal(time.size) * np.exp(-time * 4.5)
    tail /= np.sqrt(np.sum(tail**2))
    size = 1 << (sound.size + tail.size).bit_length()
    wet = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(tail, size), size)[: sound.size]
    return np.asarray(sound + 0.35 * wet, np.float32)


def _add(track: Wave, sound: Wave, at: float) -> None:
    start = int(at * RATE)
    end = min(track.size, start + sound.size)
    if end > start:
        track[start:end] += sound[: end - start]


def _wav(left: Wave, right: Wave) -> bytes:
    both = np.stack([left, right], axis=1)
    both *= 0.86 / max(1e-6, float(np.max(np.abs(both))))
    fade = min(int(0.4 * RATE), left.size // 3)
    both[:fade] *= np.linspace(0, 1, fade)[:, None] ** 0.5
    both[-fade:] *= np.linspace(1, 0, fade)[:, None]
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((both * 32767).astype("<i2").tobytes())
    return buffer.getvalue()
