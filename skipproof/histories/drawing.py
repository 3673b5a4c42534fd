"""The graph of a witness, as a picture and in the language of graphviz."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from oracles.isolation import Step, Witness

# The colour of each kind of edge; the colours differ in lightness too.
COLOURS = {
    "ww": "#b3261e",
    "wr": "#7b2d8b",
    "wrp": "#7b2d8b",
    "rw": "#0b57b0",
    "rwp": "#0b57b0",
    "time": "#5f6368",
}
DASHED = frozenset({"rw", "rwp", "time"})

NODE_RADIUS, SPREAD_PER_NODE, SPREAD_MIN = 24.0, 34.0, 90.0
MARGIN, CURVE, LABEL_SIZE, ARROW = 44.0, 0.22, 15.0, 11.0
NODES_MAX = 60  # more nodes could not be distinguished


def dot(witness: Witness) -> str:
    """Return the witness in the language of graphviz; each edge's reason is its tooltip."""
    lines = [f"digraph {json.dumps(witness.phenomenon)} {{", "  node [shape=circle];"]
    for step in witness.steps:
        style = "dashed" if step.kind in DASHED else "solid"
        quoted = json.dumps(step.because, ensure_ascii=False)
        colour = COLOURS[step.kind]
        lines.append(
            f'  T{step.tail} -> T{step.head} [label="{step.kind}", color="{colour}", fontcolor="{colour}", '
            f"style={style}, tooltip={quoted}];"
        )
    return "\n".join([*lines, "}", ""])


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of the picture."""

    x: float
    y: float

    def towards(self, other: "_Point", distance: float) -> "_Point":
        length = math.hypot(other.x - self.x, other.y - self.y)
        share = distance / length
        return _Point(self.x + share * (other.x - self.x), self.y + share * (other.y - self.y))

    def __str__(self) -> str:
        return f"{self.x:.1f},{self.y:.1f}"


def svg(witness: Witness) -> Markup | None:
    """Return a picture of the witness as a circle, read clockwise; None if it has too many transactions."""
    nodes = list(dict.fromkeys(node for step in witness.steps for node in (step.tail, step.head)))
    if len(nodes) > NODES_MAX:
        return None
    widest = max(len(str(node)) for node in nodes) + 1
    radius = max(NODE_RADIUS, 5.5 * widest)
    spread = max(SPREAD_MIN, SPREAD_PER_NODE * len(nodes) * radius / NODE_RADIUS / 2)
    middle = spread + radius + MARGIN
    places = _circle_points(nodes, middle, spread)
    height = 2 * middle if len(nodes) > 2 else 2 * (radius + MARGIN) + 20
    top = middle - height / 2
    parts = [
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {:.0f} {:.0f} {:.0f}" width="{:.0f}" '
            'height="{:.0f}" role="img" font-family="system-ui, sans-serif" font-size="{}">'
            "<title>{}: {}</title>"
        ).format(
            top,
            2 * middle,
            height,
            2 * middle,
            height,
            LABEL_SIZE,
            witness.phenomenon,
            _steps_text(witness.steps),
        ),
        *(_edge(step, places, radius, _Point(middle, middle)) for step in witness.steps),
        *(
            Markup(
                '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="#ffffff" stroke="#3c4043" '
                'stroke-width="1.5"/>'
                '<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="#1b1f24">T{}</text>'
            ).format(place.x, place.y, radius, place.x, place.y + LABEL_SIZE / 3, node)
            for node, place in places.items()
        ),
        Markup("</svg>"),
    ]
    return Markup("\n").join(parts)


def _steps_text(steps: Sequence[Step]) -> str:
    """Return the steps of a witness in one line."""
    return ", ".join(f"T{step.tail} {step.kind} T{step.head}" for step in steps)


def _circle_points(nodes: Sequence[int], middle: float, spread: float) -> dict[int, _Point]:
    """Return the point of each transaction on a circle."""
    first = math.pi if len(nodes) == 2 else -math.pi / 2
    angles = [first + 2 * math.pi * place / len(nodes) for place in range(len(nodes))]
    return {
        node: _Point(middle + spread * math.cos(angle), middle + spread * math.sin(angle))
        for node, angle in zip(nodes, angles, strict=True)
    }


def _edge(step: Step, places: dict[int, _Point], radius: float, centre: _Point) -> Markup:
    """Return an edge that bends away from the circle's centre, so that opposite edges do not coincide."""
    tail, head = places[step.tail], places[step.head]
    bend = _Point(
        (tail.x + head.x) / 2 - CURVE * (tail.y - head.y), (tail.y + head.y) / 2 - CURVE * (head.x - tail.x)
    )
    start, tip = tail.towards(bend, radius + 2), head.towards(bend, radius + 2)
    neck = tip.towards(bend, ARROW)
    side = _Point((tip.y - neck.y) * 0.4, (neck.x - tip.x) * 0.4)
    peak = _Point((tail.x + head.x) / 4 + bend.x / 2, (tail.y + head.y) / 4 + bend.y / 2)
    away = math.hypot(peak.x - centre.x, peak.y - centre.y)
    label = centre.towards(peak, away + LABEL_SIZE)
    # A label beside the circle needs half its width more than one above or below it.
    label = _Point(label.x + 0.3 * LABEL_SIZE * len(step.kind) * (peak.x - centre.x) / away, label.y)
    return Markup(
        '<g fill="{colour}"><title>{told}</title>'
        '<path d="M{start} Q{bend} {neck}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        '<path d="M{tip} L{left} L{right} z"/>'
        '<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{kind}</text></g>'
    ).format(
        colour=COLOURS[step.kind],
        told=str(step),
        start=start,
        bend=bend,
        neck=neck,
        dashes=Markup(' stroke-dasharray="6 4"') if step.kind in DASHED else "",
        tip=tip,
        left=_Point(neck.x + side.x, neck.y + side.y),
        right=_Point(neck.x - side.x, neck.y - side.y),
        x=label.x,
        y=label.y + LABEL_SIZE / 3,
        kind=step.kind,
    )
