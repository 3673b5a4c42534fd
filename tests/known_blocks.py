"""What a block's metadata tells of each column, as the optimum takes it."""

from oracles.optimum.domains import CellFacts
from strategies.base.metadata import BlockFacts
from strategies.base.tables import Table


def known_of(table: Table, block: BlockFacts) -> dict[str, CellFacts]:
    """By the columns' names."""
    return {
        column.name: CellFacts.of_counts(
            column.type,
            lower=facts.lower,
            upper=facts.upper,
            null_count=facts.null_count,
            nan_count=facts.nan_count,
            row_count=block.row_count,
        )
        for column, facts in zip(table.columns, block.columns, strict=True)
    }
