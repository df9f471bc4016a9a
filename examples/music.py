"""Decompose the spectrogram of a trumpet into notes, and draw them.

The music is ``audio_ccby.npz`` in the folder THALWEG_DATA: a trumpet by Mihai Sorohan, under
CC-BY 3.0. The Itakura-Saito loss depends on the ratio of powers, so that soft overtones count as
much as loud ones.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from scipy import signal

from thalweg import OnlineNMF
from thalweg.divergences.itakura_saito import ItakuraSaito

mpl.use("Agg")
import matplotlib.pyplot as plt

CREDIT = "Sound: Mihai Sorohan, CC-BY 3.0"
COMPONENTS, STARTS, EPOCHS = 8, 4, 20
SECONDS = 3.4  # the trumpet is silent after that
WINDOW, HOP = 2048, 256  # samples
LOWEST, HIGHEST = 200.0, 5000.0  # Hz
QUIET = 1e-5  # added to the powers, whose maximum is 1: a dynamic range of 50 dB
CLEAR = 10.0  # dB by which the overtones of a note exceed the level between them
NOTES = ["C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "A♭", "A", "B♭", "B"]
INK, SOFT = "#222a33", "#68727d"


class Spectrogram(NamedTuple):
    """Powers, one row per time frame."""

    power: Any
    times: Any
    frequencies: Any


class Result(NamedTuple):
    """Templates in the order of pitch, their activations, and the loss."""

    templates: Any
    activations: Any
    pitches: Any  # Hz, NaN for noise
    divergence: float  # mean per time frame
    of_mean: float  # the same for the mean spectrum, with the optimal loudness per frame
    seconds: float


def load(path: Path) -> tuple[Any, int]:
    """Return the sound of the trumpet, and the sampling rate."""
    with np.load(path, allow_pickle=False) as data:
        rate = int(data["sr"])
        return data["trumpet"][: int(SECONDS * rate)] / 2.0**15, rate


def spectrogram(sound: Any, rate: int) -> Spectrogram:
    """Return powers between LOWEST and HIGHEST, scaled to a maximum of 1."""
    frequencies, times, S = signal.stft(sound, rate, nperseg=WINDOW, noverlap=WINDOW - HOP)
    kept = (frequencies >= LOWEST) & (frequencies <= HIGHEST)
    power = np.abs(S[kept].T) ** 2
    return Spectrogram(power / power.max() + QUIET, times, frequencies[kept])


def pitch(template: Any, frequencies: Any) -> float:
    """Return the frequency whose multiples have the largest contrast to the levels between them.

    NaN if the contrast is below CLEAR decibels, as in a template of noise.
    """
    tried = np.arange(1.2 * LOWEST, HIGHEST / 7.0)
    level = _decibels(template / template.max())
    multiples = np.arange(1, 7)[:, None]
    on, between = (np.interp((multiples - d) * tried, frequencies, level) for d in (0.0, 0.5))
    contrast = (on - between).mean(axis=0)
    return float(tried[contrast.argmax()]) if contrast.max() > CLEAR else np.nan


def note(frequency: float) -> str:
    """Return a pitch and the name of the nearest note, such as A4 for 440 Hz."""
    if np.isnan(frequency):
        return "no pitch"
    number = round(69 + 12 * np.log2(frequency / 440.0))
    return f"{NOTES[number % 12]}{number // 12 - 1}  {frequency:.0f} Hz"


def fit(sound: Spectrogram, starts: int = STARTS, n_components: int = COMPONENTS) -> Result:
    """Fit with several seeds, keep the model of lowest loss, sort the templates by pitch."""
    X = sound.power
    begin = time.perf_counter()
    models = [
        OnlineNMF(
            n_components,
            loss="itakura-saito",
            init="samples",
            batch_size=64,
            epochs=EPOCHS,
            random_state=seed,
        ).fit(X)
        for seed in range(starts)
    ]
    model = max(models, key=lambda model: model.score(X))
    seconds = time.perf_counter() - begin
    loudness = model.components_.sum(axis=1)
    templates, activations = model.components_ / loudness[:, None], model.transform(X) * loudness
    pitches = np.array([pitch(template, sound.frequencies) for template in templates])
    order = np.argsort(np.nan_to_num(pitches))
    mean = X.mean(axis=0)
    flat = np.mean(X / mean, axis=1, keepdims=True) * mean  # the optimal multiple of the mean
    return Result(
        templates[order],
        activations[:, order],
        pitches[order],
        _divergence(X, activations @ templates),
        _divergence(X, flat),
        seconds,
    )


def _divergence(X: Any, model: Any) -> float:
    return float(np.mean(ItakuraSaito().value(X.T, model.T)))


def draw(sound: Spectrogram, result: Result, picture: Path) -> None:
    """Draw the spectrogram, its reconstruction, the templates and the activations."""
    fig, axes = plt.subplots(2, 2, figsize=(11.5, 7.6), layout="constrained")
    fig.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
    found = result.activations @ result.templates
    titles = ("The sound: power in dB", f"The same from {len(result.templates)} templates")
    for ax, power, title in zip(axes[0], (sound.power, found), titles, strict=True):
        mesh = ax.pcolormesh(
            sound.times, sound.frequencies, _decibels(power.T), cmap="magma", vmin=-50, vmax=0
        )
        _hertz(ax.yaxis, ax.set_yscale)
        _finish(ax, title)
    axes[0, 0].set_ylabel("frequency in Hz", color=SOFT)
    fig.colorbar(mesh, ax=axes[0], ticks=[-50, -25, 0], pad=0.01).outline.set_visible(False)
    _draw_parts(axes[1], sound, result)
    fig.text(0.995, 0.005, CREDIT, ha="right", va="bottom", fontsize=9, color=SOFT)
    fig.savefig(picture, dpi=80)
    plt.close(fig)


def _draw_parts(axes: Any, sound: Spectrogram, result: Result) -> None:
    colours = mpl.colormaps["viridis"](np.linspace(0.0, 0.85, len(result.templates)))
    colours[np.isnan(result.pitches)] = mpl.colors.to_rgba("#b4bcc5")
    for k, colour in enumerate(colours):
        level = 1.0 + _decibels(result.templates[k] / result.templates[k].max()) / 40.0
        loud = 1.0 + _decibels(result.activations[:, k] / result.activations.max()) / 40.0
        for ax, x, y in zip(axes, (sound.frequencies, sound.times), (level, loud), strict=True):
            ax.fill_between(x, k, k + 0.9 * np.maximum(y, 0.0), color=colour, lw=0)
            ax.axhline(k, color="#d5d9de", lw=0.7, zorder=0)
    names = [note(frequency) for frequency in result.pitches]
    axes[0].set_yticks(np.arange(len(names)) + 0.3, names)
    axes[1].set_yticks([])
    _hertz(axes[0].xaxis, axes[0].set_xscale)
    axes[0].set_xlabel("frequency in Hz", color=SOFT)
    axes[1].set_xlabel("seconds", color=SOFT)
    _finish(axes[0], "The templates: 40 dB, and the nearest note")
    _finish(axes[1], "When they sound: 40 dB")


def _decibels(power: Any) -> Any:
    return 10.0 * np.log10(np.maximum(power, 1e-6))


def _hertz(axis: Any, set_scale: Any) -> None:
    set_scale("log")
    axis.set_major_locator(mpl.ticker.FixedLocator([250, 500, 1000, 2000, 4000]))
    axis.set_major_formatter(mpl.ticker.ScalarFormatter())
    axis.set_minor_locator(mpl.ticker.NullLocator())


def _finish(ax: Any, title: str) -> None:
    ax.set_title(title, fontsize=13, color=INK)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, colors=INK, labelsize=11)
    ax.margins(x=0)


def main(argv: list[str] | None = None) -> Result:
    """Load, transform, fit, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    if options.data is None or not (options.data / "audio_ccby.npz").exists():
        parser.error("audio_ccby.npz not found: set --data or THALWEG_DATA to its folder")
    sound = spectrogram(*load(options.data / "audio_ccby.npz"))
    result = fit(sound, options.starts)
    print(f"{sound.power.shape[0]} time frames, {sound.power.shape[1]} frequencies")
    print("components:", ", ".join(note(frequency) for frequency in result.pitches))
    print(f"mean divergence per frame: {result.divergence:.0f}", end=", ")
    print(f"of the mean spectrum {result.of_mean:.0f}: {result.of_mean / result.divergence:.1f}x")
    print(f"seconds: {result.seconds:.1f} for {options.starts} initialisations")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(sound, result, options.output / "music.png")
    print(f"picture: {options.output / 'music.png'}\n{CREDIT}")
    return result


if __name__ == "__main__":
    main()
