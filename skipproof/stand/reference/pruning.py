"""Pruning of whole questions: the rules of the small engine, and the values of subqueries."""

from collections.abc import Mapping, Sequence
from typing import Any

from skipproof.stand.reference.aggregating import AggregateRules
from skipproof.stand.reference.answering import (
    Rows,
    aggregate_value,
    answer_of_source,
    changed_rows,
    selected_values,
    updated_row,
)
from skipproof.stand.reference.evaluating import Schema
from skipproof.stand.reference.subqueries import (
    MEMBERSHIPS,
    constant,
    membership,
    without_subqueries,
)
from skipproof.stand.reference.tables import Table
from skipproof.stand.reference.values import Row, Value
from strategies.engines.questions import Json


class Rules(AggregateRules):
    """The rules of the correct engine; a mutant is a subclass."""

    def answer(self, question: Json, tables: Mapping[str, Table]) -> list[list[Value]]:
        """Return the answer, from as few rows as are proved to be enough."""
        if question["area"] == "subquery":
            question = self.with_values(question, tables)
        table = tables[question["source"]["table"]]
        if question["change"]:
            return selected_values(question, self.changed_table(question, table), table.schema)
        if question.get("set"):
            return self.set_operation(question, tables)
        if question.get("window"):
            return answer_of_source(question, *self.window_candidates(question, table))
        if question["join"] is not None:
            rows, schema = self.join_relations(question, tables)
            return answer_of_source(question, rows, schema)
        if question["aggregates"]:
            return self.aggregates(question, table)
        if question["order"]:
            whole_source = question["source"] | {"order": question["order"], "limit": question["limit"]}
            rows = self.top_rows(whole_source | {"offset": question["offset"]}, table)
            return selected_values(question | {"limit": None, "offset": 0}, rows, table.schema)
        needed = self.rows_needed(question["limit"], question["offset"])
        rows, schema = self.relation(question["source"], table, needed=needed)
        return self.answer_rows(question, rows, schema)

    def answer_rows(self, question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
        """Return the answer's rows that LIMIT and OFFSET leave."""
        return selected_values(question, rows, schema)

    def with_values(self, question: Json, tables: Mapping[str, Table]) -> Json:
        """Return a question with the values of its subqueries in place of them."""
        return without_subqueries(
            question, lambda term: self.value_of_subquery(term, tables[term["relation"]["table"]])
        )

    def value_of_subquery(self, term: Json, table: Table) -> Json:
        """Return a term without subqueries for a subquery; an aggregate may come from statistics alone."""
        relation = term["relation"]
        if term["query"] in MEMBERSHIPS:
            rows, schema = self.relation(relation, table)
            position, type_ = schema[term["value"]]
            return self.membership(term, [row[position] for row in rows], type_)
        question = {"source": relation, "aggregates": [{"function": term["query"], "of": term["value"]}]}
        return constant(self.scalar(question, table), term["type"])

    def membership(self, term: Json, values: Sequence[Value], type_: str) -> Json:
        """Return IN or EXISTS over the values of a subquery."""
        return membership(term, values, type_)

    def scalar(self, question: Json, table: Table) -> Value:
        """Return the one aggregate of a relation; statistics know nothing of a LIMIT or of DISTINCT."""
        if self.is_filtered_only(question["source"]):
            parts = self.parts_of_aggregates(question, table)
        else:
            rows, schema = self.relation(question["source"], table)
            parts = [[aggregate_value(question["aggregates"][0], rows, schema)]]
        return self.combined_aggregates(question, parts)[0]

    def changed_table(self, question: Json, table: Table) -> list[Row]:
        """Return the table after a change; files that cannot match, or match fully, are not read."""
        where = question["source"]["where"]
        rows: list[Row] = []
        for group in table.groups:
            lookup: Any = self.lookup(table, group)
            if not self.may_match(where, lookup, len(group.rows)):
                self.saved["files kept"] += 1
                rows += group.rows
            elif not self.matches_fully(where, lookup):
                rows += changed_rows(question, group.rows, table.schema)
            else:
                self.saved["files dropped"] += 1
                if question["change"] != "delete":
                    rows += [updated_row(question, row, table.schema) for row in group.rows]
        return rows
