"""The WHEN clauses of a MERGE that is executed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pruning.arguments import check_choice, check_text, describe_value
from pruning.errors import InputError
from pruning.techniques.dml.rewriting import Then, When

# Expressions by the target's columns; "*" gives all of them the source's values of the same names.
Values: TypeAlias = Mapping[str, str] | Literal["*"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenClause:
    """One WHEN clause of MERGE, with what it does.

    `MergeClause` is the part of it that block metadata can judge: `merge` derives that for its plan.

    Attributes:
        when: The rows that it applies to.
        then: The action on these rows.
        condition: Its AND, in Spark SQL over `target` and `source`; of these only `source` for rows that are
            not matched, and only `target` for rows not matched by the source. None if there is none.
        values: For UPDATE and INSERT, expressions over the same by the target's columns: an UPDATE keeps the
            others, and an INSERT leaves them NULL. "*" for the source's columns of the same names.
    Raises:
        InputError: an argument is of another type, or the action is none of this kind of rows.
    """

    when: When
    then: Then
    condition: str | None = None
    values: Values | None = None

    def __post_init__(self) -> None:
        check_choice("when", self.when, When)
        check_choice("then", self.then, Then)
        if (self.when is When.NOT_MATCHED) is not (self.then is Then.INSERT):
            raise InputError(
                f"{self.when.value} cannot {self.then.value}; INSERT goes with WHEN NOT MATCHED alone."
            )
        if self.condition is not None:
            check_text("condition", self.condition)
        self._check_values()

    def _check_values(self) -> None:
        if self.then is Then.DELETE:
            if self.values is not None:
                raise InputError(f"values is {describe_value(self.values)}; a DELETE has none.")
            return
        if self.values == "*":
            if self.when is When.NOT_MATCHED_BY_SOURCE:
                raise InputError("values is '*'; rows not matched by the source have none of its values.")
            return
        if not isinstance(self.values, Mapping) or not self.values:
            raise InputError(f"values is {describe_value(self.values)}; give expressions by columns, or '*'.")
