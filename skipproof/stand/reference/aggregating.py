"""Aggregates: those of row groups that match fully come from statistics, if these determine them."""

from collections.abc import Sequence

from skipproof.stand.reference.answering import (
    FOLDS,
    aggregate_value,
    aggregated_answer,
    answer_of_source,
)
from skipproof.stand.reference.joining import JoinRules
from skipproof.stand.reference.ranges import Lookup
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Value, is_float
from strategies.engines.questions import Json


class AggregateRules(JoinRules):
    """The rules for aggregates; a mutant replaces one of the methods."""

    def aggregates(self, question: Json, table: Table) -> list[list[Value]]:
        """Return the answer to a question with aggregates."""
        if not self.is_filtered_only(question["source"]) or not self.are_parts_combined(question):
            return answer_of_source(question, *self.relation(question["source"], table))
        return self.answer_from_parts(question, self.parts_of_aggregates(question, table), table)

    def are_parts_combined(self, question: Json) -> bool:
        """Tell whether the aggregates of row groups determine those of all rows."""
        return question["group"] is None and not any(
            aggregate.get("distinct") for aggregate in question["aggregates"]
        )

    def answer_from_parts(
        self, question: Json, parts: Sequence[list[Value]], table: Table
    ) -> list[list[Value]]:
        """Return the answer from the aggregates of row groups; HAVING is about the combined ones."""
        return aggregated_answer(question, [self.combined_aggregates(question, parts)], table.schema)

    def combined_aggregates(self, question: Json, parts: Sequence[list[Value]]) -> list[Value]:
        """Return the aggregates of all rows from those of row groups."""
        return [
            self.combined_aggregate(aggregate["function"], [part[at] for part in parts])
            for at, aggregate in enumerate(question["aggregates"])
        ]

    def parts_of_aggregates(self, question: Json, table: Table) -> list[list[Value]]:
        """Return the aggregates of each row group that may have a matching row."""
        where, parts = question["source"]["where"], []
        for group in self.groups(table, where):
            part = self.aggregates_of_full_group(question, table, group)
            if part is None:
                rows = self.read(table, group, where)
                part = [
                    aggregate_value(aggregate, rows, table.schema) for aggregate in question["aggregates"]
                ]
            else:
                self.saved["row groups by aggregates"] += 1
            parts.append(part)
        return parts

    def aggregates_of_full_group(self, question: Json, table: Table, group: Group) -> list[Value] | None:
        """Return the aggregates of a group from statistics; None if a row may not match."""
        lookup = self.lookup(table, group)
        if not self.matches_fully(question["source"]["where"], lookup):
            return None
        return self.aggregates_from_statistics(question, group, lookup)

    def combined_aggregate(self, function: str, values: Sequence[Value]) -> Value:
        """Combine one aggregate of all groups."""
        present = [value for value in values if value is not None]
        if function == "count":
            return sum(present)
        return FOLDS[function](present) if present else None

    def aggregates_from_statistics(self, question: Json, group: Group, lookup: Lookup) -> list[Value] | None:
        """Return all aggregates of a group from its statistics; None if one is unknown."""
        values = []
        for aggregate in question["aggregates"]:
            is_known, value = self.filtered_aggregate(aggregate, len(group.rows), lookup)
            if not is_known:
                return None
            values.append(value)
        return values

    def filtered_aggregate(self, aggregate: Json, rows: int, lookup: Lookup) -> tuple[bool, Value]:
        """Return whether statistics determine an aggregate, where FILTER is decided, and its value."""
        where = aggregate.get("where")
        if not self.may_match(where, lookup, rows):
            return True, 0 if aggregate["function"] == "count" else None
        if not self.matches_fully(where, lookup):
            return False, None
        if isinstance(aggregate["of"], dict):
            return self.aggregate_of_expression(aggregate, lookup)
        facts = None if aggregate["of"] is None else lookup(aggregate["of"])
        return self.aggregate_from_statistics(aggregate["function"], facts, rows)

    def aggregate_of_expression(self, aggregate: Json, lookup: Lookup) -> tuple[bool, Value]:
        """Return whether statistics determine MIN or MAX of an expression, and its value."""
        range_ = self.range_of(aggregate["of"], lookup)
        if aggregate["function"] not in ("min", "max") or not range_.values:
            return False, None
        return range_.exact, range_.lower if aggregate["function"] == "min" else range_.upper

    def aggregate_from_statistics(self, function: str, facts: Facts | None, rows: int) -> tuple[bool, Value]:
        """Return whether statistics determine one aggregate, and its value."""
        if facts is None:
            return True, rows
        if facts.nulls is None:
            return False, None
        if function == "count":
            return True, rows - facts.nulls
        if facts.nulls == rows:
            return True, None
        return self.extreme_from_statistics(function, facts) if function in ("min", "max") else (False, None)

    def extreme_from_statistics(self, function: str, facts: Facts) -> tuple[bool, Value]:
        """Return whether statistics determine MIN or MAX, and its value; only exact bounds do."""
        if is_float(facts.type) and facts.nans is None:
            return False, None
        range_ = self.column_range(facts)
        return range_.exact, range_.lower if function == "min" else range_.upper
