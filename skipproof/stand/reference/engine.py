"""The small engine, a client like a worker but in the process of the stand."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from skipproof.stand.adapters.parameters import with_nulls, with_parameters
from skipproof.stand.adapters.serving import failure
from skipproof.stand.reference.answering import answer_of_set, answer_of_source, apply_relation, join_rows
from skipproof.stand.reference.evaluating import filter_rows
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.subqueries import value_of_subquery, without_subqueries
from skipproof.stand.reference.tables import (
    NOTHING,
    AvailableStatistics,
    Table,
    from_blocks,
    from_files,
    has_transform,
    split_by_partition,
    with_statistics,
)
from skipproof.stand.reference.values import Value
from skipproof.stand.workers.workers import PROTOCOL, Hello
from strategies.engines.questions import Json

SETTINGS = {
    "partitions": ("none", "identity", "truncate", "bucket"),
    "statistics": ("all", "no counts", "no bounds"),
}
AREAS_OF_FILES = ("filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery")


class SmallEngine:
    """The small engine.

    Args:
        rules: The pruning rules; the correct ones by default.
        version: The version in its first message.
        tables: `files` answers every area but dml; `own` answers only that.
    """

    def __init__(
        self, rules: Rules | None = None, *, version: str = "correct", tables: str = "files"
    ) -> None:
        self.rules = rules or Rules()
        self.hello = Hello.from_message(
            {
                "protocol": PROTOCOL,
                "engine": "small",
                "version": version,
                "tables": tables,
                "areas": AREAS_OF_FILES if tables == "files" else ("dml",),
                "settings": SETTINGS,
                "features": True,
            }
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Answer a request; `docs/reference/stand.md` defines both."""
        settings = request.get("settings", {})
        try:
            tables = {name: self._open_table(table, settings) for name, table in request["tables"].items()}
        except OSError as error:
            # The row group is a trap, which fails every reader that does not skip it.
            return {"error": f"OSError: {error}", "kind": "failed"}
        plain = all(self._is_plain(table) for table in request["tables"].values())
        answers = []
        for question in request["questions"]:
            before = Counter(self.rules.saved)
            answers.append(self._answer(question, tables, plain))
            if request.get("features"):
                answers[-1]["features"] = sorted(self.rules.saved - before)
        return {"answers": answers}

    def close(self) -> None:
        """Do nothing, because there is no process to end."""

    def _is_plain(self, table: Json) -> bool:
        """Tell whether a table of a request is in its plain form."""
        return "blocks" in table and (self.hello.tables == "files" or table.get("statistics") is False)

    def _open_table(self, table: Json, settings: Mapping[str, str]) -> Table:
        """Return a table of a request with its statistics and partitions."""
        if self._is_plain(table):
            return from_blocks(table, NOTHING)
        opened = from_files(table) if "files" in table else from_blocks(table, AvailableStatistics())
        return self.with_settings(opened, settings)

    def with_settings(self, table: Table, settings: Mapping[str, str]) -> Table:
        """Return an opened table with the statistics and partitions that the settings name."""
        opened = with_statistics(table, settings.get("statistics", "all"))
        transform = settings.get("partitions", "none")
        _, type_ = next(iter(opened.schema.values()))
        if has_transform(transform, type_):
            opened = split_by_partition(opened, transform, self._partition_values(opened, transform, type_))
        return opened

    def _partition_values(self, table: Table, transform: str, type_: str) -> list[list[Value]]:
        """Return the value of a transform of the first column, for each row of each group."""
        return [
            [self.rules.partition_value(transform, row[0], type_) for row in group.rows]
            for group in table.groups
        ]

    def _answer(self, question: Json, tables: Mapping[str, Table], plain: bool) -> dict[str, Any]:
        """Return the last answer to one question, which may be asked several times, or its error."""
        rows: list[list[Value]] = []
        try:
            for _ in range(question.get("repeat", 1)):
                rows = answer_from_all_rows(question, tables) if plain else self._execute(question, tables)
        except Exception as error:  # Like a worker: an error of the engine is its answer.
            return failure(error)
        return {"rows": rows}

    def _execute(self, question: Json, tables: Mapping[str, Table]) -> list[list[Value]]:
        """Return the answer that may be pruned; a prepared question is executed with NULL before."""
        if question.get("prepared"):
            question, _ = with_parameters(question)
            self.rules.answer(with_nulls(question), tables)
        return self.rules.answer(question, tables)


def answer_from_all_rows(question: Json, tables: Mapping[str, Table]) -> list[list[Value]]:
    """Return the answer from all rows of all tables, without pruning."""
    question = without_subqueries(
        question, lambda term: value_of_subquery(term, *plain_relation(term["relation"], tables))
    )
    source, join = question["source"], question["join"]
    if question["change"]:
        table = tables[source["table"]]
        return answer_of_source(question, table.rows, table.schema)
    rows, schema = plain_relation(source, tables)
    if question.get("set"):
        return answer_of_set(question, (rows, schema), plain_relation(question["set"]["right"], tables))
    if join is not None:
        other, other_schema = plain_relation(join["right"], tables)
        rows, schema = join_rows(join, rows, other, (schema, other_schema))
    if question.get("second"):
        other, other_schema = plain_relation(question["second"]["right"], tables)
        rows, schema = join_rows(question["second"], rows, other, (schema, other_schema))
    return answer_of_source(question, rows, schema)


def plain_relation(relation: Json, tables: Mapping[str, Table]) -> Any:
    """Return the rows of a relation without pruning, and their schema."""
    table = tables[relation["table"]]
    return apply_relation(relation, filter_rows(table.rows, relation["where"], table.schema), table.schema)
