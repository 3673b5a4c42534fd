"""How many examples a property draws, as a multiple of what the profile says."""

from hypothesis import settings


def examples(ratio: float) -> settings:
    """The profile's settings with `ratio` times its examples: more for cheap properties, fewer for jobs.

    A plain `max_examples` would hold in every profile, and a deep run would go no deeper.
    """
    return settings(max_examples=max(1, round(settings.default.max_examples * ratio)))
