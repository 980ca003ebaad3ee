"""Plots as SVG text: no library, no script, nothing loaded. Colours come from the page, so that dark and light work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from satchel.evaluate.statistics import Estimate

WIDTH = 640
"""Of every plot, in its own units; the page scales it to what there is."""

_LABEL = 150
_VALUE = 160
_ROW = 30
_AXIS = 26
_TOP = 8

_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def intervals(rows: Sequence[tuple[str, Estimate]]) -> str:
    """A dot with its interval for each measure, on one scale from 0 to 1."""
    left, right = _LABEL - 60, WIDTH - _VALUE
    height = _TOP + _ROW * len(rows) + _AXIS
    parts = _vertical_grid(left, right, height - _AXIS)
    for at, (name, value) in enumerate(rows):
        y = _TOP + _ROW * at + _ROW / 2
        low, mean, high = (left + (right - left) * part for part in (value.low, value.mean, value.high))
        parts += [
            _text(left - 12, y + 4, name, "label end"),
            f'<line class="whisker" x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}"/>',
            f'<circle class="dot" cx="{mean:.1f}" cy="{y:.1f}" r="5"/>',
            _text(right + 14, y + 4, f"{value.mean:.2f}  ({value.low:.2f} to {value.high:.2f})", "value"),
        ]
    return _svg(height, "Measures with their 95 % intervals", parts)


def hit_curve(values: Sequence[Estimate]) -> str:
    """The share of fixes with a changed file among the first k, for k from 1, as a line with its band."""
    left, right, top, bottom = 44.0, WIDTH - 16.0, 12.0, 210.0
    steps = max(len(values) - 1, 1)

    def place(at: int, share: float) -> str:
        return f"{left + (right - left) * at / steps:.1f},{bottom - (bottom - top) * share:.1f}"

    upper = [place(at, value.high) for at, value in enumerate(values)]
    lower = [place(at, value.low) for at, value in reversed(list(enumerate(values)))]
    middle = " ".join(place(at, value.mean) for at, value in enumerate(values))
    parts = _horizontal_grid(left, right, top, bottom)
    parts += [f'<polygon class="band" points="{" ".join([*upper, *lower])}"/>']
    parts += [f'<polyline class="line" points="{middle}"/>']
    shown = [at for at in range(len(values)) if at == 0 or (at + 1) % 5 == 0]
    parts += [_text(left + (right - left) * at / steps, bottom + 18, str(at + 1), "tick middle") for at in shown]
    return _svg(bottom + 42, "Share of fixes with a changed file among the first k files", [
        *parts, _text((left + right) / 2, bottom + 36, "first k files of the context", "tick middle"),
    ])  # fmt: skip


def timeline(rows: Sequence[tuple[str, float, str]]) -> str:
    """A dot for each fix, oldest first: its share from 0 to 1, and a title; a line follows the mean of the last ten."""
    left, right, top, bottom = 44.0, WIDTH - 16.0, 12.0, 170.0
    steps = max(len(rows) - 1, 1)

    def x(at: int) -> float:
        return left + (right - left) * (at / steps if len(rows) > 1 else 0.5)

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    parts = _horizontal_grid(left, right, top, bottom)
    means = []
    for at, (_, share, title) in enumerate(rows):
        recent = [value for _, value, _ in rows[max(0, at - _RECENT + 1) : at + 1]]
        means.append(f"{x(at):.1f},{y(sum(recent) / len(recent)):.1f}")
        parts.append(
            f'<circle class="fix" cx="{x(at):.1f}" cy="{y(share):.1f}" r="4"><title>{escape(title)}</title></circle>'
        )
    parts.append(f'<polyline class="line" points="{" ".join(means)}"/>')
    if rows:
        parts.append(_text(left, bottom + 18, rows[0][0], "tick"))
        parts.append(_text(right, bottom + 18, rows[-1][0], "tick end"))
    return _svg(bottom + 26, "Share of the changed places that was shown, for each fix in order of time", parts)


_RECENT = 10


def bars(counts: Mapping[str, int]) -> str:
    """A bar for each count, in the order given."""
    left, right = _LABEL + 20, WIDTH - 60
    largest = max(counts.values(), default=1)
    parts = []
    for at, (name, count) in enumerate(counts.items()):
        y = _TOP + _ROW * at
        width = (right - left) * count / largest
        parts += [
            _text(left - 12, y + _ROW / 2 + 4, name, "label end"),
            f'<rect class="bar" x="{left}" y="{y + 6}" width="{width:.1f}" height="{_ROW - 12}" rx="2"/>',
            _text(left + width + 8, y + _ROW / 2 + 4, f"{count:,}", "value"),
        ]
    return _svg(_TOP + _ROW * len(counts) + 4, "Commits by what became of them", parts)


def _vertical_grid(left: float, right: float, bottom: float) -> list[str]:
    parts = []
    for share in _TICKS:
        x = left + (right - left) * share
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 18, f"{share:g}", "tick middle"))
    return parts


def _horizontal_grid(left: float, right: float, top: float, bottom: float) -> list[str]:
    parts = []
    for share in _TICKS:
        y = bottom - (bottom - top) * share
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(_text(left - 8, y + 4, f"{share:g}", "tick end"))
    return parts


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)}">'
    return "\n".join([head, *parts, "</svg>"])
