"""A picture of the graph of a run's tables: a table stands right of the tables that it reads."""

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Patch, PathPatch
from matplotlib.path import Path

from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.catalog.lags import DOWNSTREAM
from sim.refreshes.graphs import Graph, GraphNode, trim_graph
from sim.refreshes.layering import GraphLayout, Stop, layered_layout
from skipproof.simulations import bands, look
from skipproof.simulations.look import Picture

# Points.
BOX_MAX, BETWEEN_MIN, BETWEEN_MAX, MARGIN = 124.0, 34.0, 110.0, 6.0
LINE, PAD, APART, LEGEND = 11.5, 5.0, 10.0, 20.0
ARROW = 5.0
LETTER = 5.2
NODES_MAX = 60
COLOURS = {Mode.INCREMENTAL: "#d6e6f4", Mode.FULL: "#fbe3b5"}
TABLE, VIEW, EDGE = look.PALE, "#ffffff", "#8b949e"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position of a stop, in points from the upper left."""

    left: float
    right: float
    middle: float


def graph_picture(full_graph: Graph, *, seed: int) -> Picture:
    """Return the picture of the graph; a large graph is trimmed to `NODES_MAX` nodes."""
    graph = trim_graph(full_graph, nodes_max=NODES_MAX)
    layout = layered_layout(list(graph.nodes), graph.reads)
    lines = {table: _box_lines(graph, table) for table in graph.nodes}
    box = 2 * PAD + LINE * max(map(len, lines.values()), default=1)
    rows = max(map(len, layout.layers), default=1)
    height = rows * (box + APART) + 2 * MARGIN + LEGEND
    with look.new_figure(bands.WIDTH, height, font=bands.FONT) as figure:
        axes = look.axes_within(figure, left=0, right=0, top=0, bottom=LEGEND)
        axes.set(xlim=(0, bands.WIDTH), ylim=(height - LEGEND, 0))
        axes.axis("off")
        places = stop_positions(layout, height=height - LEGEND)
        for route in layout.routes:
            _draw_edge(axes, [places[stop] for stop in route])
        for table, stands in graph.nodes.items():
            _draw_box(axes, places[table], box, stands, lines[table])
        bands.draw_legend(figure, _legend_handles(graph), columns=5)
        markup = look.svg(figure, name="graph", description=_description(graph, seed))
    left_out = len(full_graph.nodes) - len(graph.nodes)
    return Picture(
        name="graph",
        title="Who reads whom",
        caption="All that stands at the end of the run; a table stands right of all that it reads. "
        "Of a dynamic table there are the target lag, the refresh mode, and what it is if it is not at rest."
        + (f" {left_out} more, at rest, are left out." if left_out else ""),
        svg=markup,
        wide=True,
    )


def stop_positions(layout: GraphLayout, *, height: float) -> dict[Stop, Position]:
    """Return the position of each stop: layers stand side by side, each centred in the height."""
    count = len(layout.layers)
    wide = min(BOX_MAX, (bands.WIDTH - 2 * MARGIN + BETWEEN_MIN) / max(count, 1) - BETWEEN_MIN)
    between = min(BETWEEN_MAX, (bands.WIDTH - 2 * MARGIN - count * wide) / max(count - 1, 1))
    first = (bands.WIDTH - count * wide - (count - 1) * between) / 2
    positions = {}
    for number, layer in enumerate(layout.layers):
        left = first + number * (wide + between)
        slot = (height - 2 * MARGIN) / max(len(layer), 1)
        for place, stop in enumerate(layer):
            middle = MARGIN + slot * (place + 0.5)
            positions[stop] = Position(left=left, right=left + wide, middle=middle)
    return positions


def _box_lines(graph: Graph, table: str) -> list[str]:
    """Return the lines of text in a table's box."""
    stands = graph.nodes[table]
    missing = sum(reader == table for _, reader in graph.missing)
    lacking = [f"{missing} {'name' if missing == 1 else 'names'} missing"] if missing else []
    if stands.mode is None:
        return [stands.name, stands.kind.value, *lacking]
    lag = "DOWNSTREAM" if stands.lag is DOWNSTREAM or stands.lag is None else look.exact_duration(stands.lag)
    condition = [] if stands.condition is None else [stands.condition.name.lower().replace("_", " ")]
    state = ", ".join([*condition, *(["late"] if stands.late else [])])
    return [stands.name, f"target {lag}", stands.mode.value, *lacking, *([state] if state else [])]


def _draw_box(axes: Axes, place: Position, height: float, stands: GraphNode, lines: list[str]) -> None:
    """Draw the box of a table with its lines of text."""
    wide = place.right - place.left
    axes.add_patch(
        FancyBboxPatch(
            (place.left, place.middle - height / 2),
            wide,
            height,
            boxstyle="round,pad=0,rounding_size=4",
            facecolor=_colour(stands),
            edgecolor=EDGE if stands.rests else look.VERMILION,
            linewidth=0.8 if stands.rests else 1.6,
            linestyle=(0, (4, 2)) if stands.kind is EntityKind.VIEW else "-",
        )
    )
    first = place.middle - LINE * (len(lines) - 1) / 2
    for number, line in enumerate(lines):
        loud = number >= 3 and not stands.rests
        axes.text(
            place.left + wide / 2,
            first + LINE * number,
            look.short_label(line, max(3, int((wide - PAD) / LETTER))),
            ha="center",
            va="center",
            fontsize=bands.FONT if number == 0 else bands.FONT - 1,
            fontweight="bold" if number == 0 else "normal",
            color=look.VERMILION if loud else look.INK,
        )


def _colour(stands: GraphNode) -> str:
    """Return the colour of a table's box."""
    if stands.mode is not None:
        return COLOURS[stands.mode]
    return VIEW if stands.kind is EntityKind.VIEW else TABLE


def _draw_edge(axes: Axes, stops: list[Position]) -> None:
    """Draw an arrow from the right of the first stop through the others to the left of the last."""
    points = [(stops[0].right, stops[0].middle)]
    for stop in stops[1:-1]:
        points += [(stop.left, stop.middle), (stop.right, stop.middle)]
    points.append((stops[-1].left - ARROW, stops[-1].middle))
    vertices, codes = [points[0]], [Path.MOVETO]
    for (x, y), (to_x, to_y) in zip(points[::2], points[1::2], strict=True):
        if (x, y) != points[0]:
            vertices.append((x, y))
            codes.append(Path.LINETO)
        half = (x + to_x) / 2
        vertices += [(half, y), (half, to_y), (to_x, to_y)]
        codes += [Path.CURVE4] * 3
    axes.add_patch(PathPatch(Path(vertices, codes), facecolor="none", edgecolor=EDGE, linewidth=1))
    tip, back = stops[-1].left, stops[-1].left - ARROW
    middle, half = stops[-1].middle, ARROW / 2
    head = Path([(back, middle - half), (tip, middle), (back, middle + half), (back, middle - half)])
    axes.add_patch(PathPatch(head, facecolor=EDGE, edgecolor="none"))


def _legend_handles(graph: Graph) -> list[Patch]:
    """Return the legend of the kinds of nodes that the picture has."""
    nodes = graph.nodes.values()
    handles = []
    if any(node.kind is EntityKind.TABLE for node in nodes):
        handles.append(Patch(facecolor=TABLE, edgecolor=EDGE, label="base table"))
    if any(node.kind is EntityKind.VIEW for node in nodes):
        handles.append(Patch(facecolor=VIEW, edgecolor=EDGE, linestyle=(0, (2, 1)), label="view"))
    handles += [
        Patch(facecolor=colour, edgecolor=EDGE, label=f"dynamic table, {mode.value}")
        for mode, colour in COLOURS.items()
        if any(node.mode is mode for node in nodes)
    ]
    if not all(node.rests for node in nodes):
        handles.append(Patch(facecolor="none", edgecolor=look.VERMILION, label="not at rest, or late"))
    return handles


def _description(graph: Graph, seed: int) -> str:
    """Return the picture in words."""
    names = {table: look.short_label(stands.name, 40) for table, stands in graph.nodes.items()}
    reads = (f"{names[reader]} reads {names[source]}" for source, reader in graph.reads)
    return "; ".join([f"The graph at the end of the run of seed {seed}", *reads])
