"""Edges of polygons that are wrong in one way each."""

from mutants.replacements import Replacement
from pruning import geography
from pruning.geography import _Edge

MUTANTS = {
    "a corner counts for both of its edges": Replacement(
        _Edge,
        "is_crossed",
        lambda self, latitude, longitude: (
            latitude.between(self.south, self.north) & (self.side(latitude, longitude) > 0)
        ),
    ),
    "edges are outside": Replacement(_Edge, "has", lambda self, latitude, longitude: latitude > 90),
    "edges go on beyond their corners": Replacement(
        _Edge, "has", lambda self, latitude, longitude: self.side(latitude, longitude) == 0
    ),
    "what is enclosed twice is inside": Replacement(
        geography, "add", lambda left, right: geography._functions().greatest(left, right)
    ),
}
