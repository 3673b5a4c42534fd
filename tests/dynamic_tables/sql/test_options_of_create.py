"""Options of CREATE that change nothing here are checked and accepted; any other is refused by its name."""

import pytest
from maintaining import TABLES

from dynamic_tables.sql.definitions import SqlDefinition
from dynamic_tables.sql.statements import read_statement
from dynamic_tables.values.errors import Refused
from pruning.errors import InputError

LAG = "TARGET_LAG = '5 minutes' WAREHOUSE = wh"


def read(text: str) -> object:
    return read_statement(text, TABLES.get)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("CREATE TRANSIENT TABLE t (a INT)", "CREATE TABLE t (a INT)"),
        ("CREATE OR REPLACE TRANSIENT TABLE t (a INT)", "CREATE OR REPLACE TABLE t (a INT)"),
        ("CREATE TABLE t (a INT COMMENT 'x') COMMENT = 'it''s'", "CREATE TABLE t (a INT)"),
        ("CREATE TABLE t (a INT, b INT) CLUSTER BY (a, b) COMMENT 'x'", "CREATE TABLE t (a INT, b INT)"),
        (
            "CREATE TABLE t CLUSTER BY (k) COMMENT = 'x' AS SELECT k FROM l",
            "CREATE TABLE t AS SELECT k FROM l",
        ),
        ("CREATE VIEW v COMMENT = 'x' AS SELECT k FROM l", "CREATE VIEW v AS SELECT k FROM l"),
        (
            f"CREATE OR REPLACE TRANSIENT DYNAMIC TABLE b {LAG} COMMENT = 'x' CLUSTER BY (upper(x)) "
            "AS SELECT x FROM l",
            f"CREATE OR REPLACE DYNAMIC TABLE b {LAG} AS SELECT x FROM l",
        ),
    ],
)
def test_comments_clustering_and_transience_change_nothing(text: str, plain: str) -> None:
    """Each version is kept as long as any other, and no comment is kept; so a table is that without them."""
    assert read(text) == read(plain)


def test_a_query_begins_behind_an_as_that_is_no_text() -> None:
    """The query of this table was `' TARGET_LAG ...`: a comment of two letters was taken for the keyword."""
    created = read(f"CREATE DYNAMIC TABLE b COMMENT = 'as' {LAG} AS SELECT k FROM l")
    assert created.definition == SqlDefinition("SELECT k FROM l")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (f"CREATE DYNAMIC TABLE b {LAG} CLUSTER BY (y) AS SELECT x FROM l", "there is no column y"),
        ("CREATE TABLE t (a INT) CLUSTER BY (b)", "there is no column b"),
        ("CREATE TABLE t (a INT) COMMENT = 'x' COMMENT = 'y'", "COMMENT is given twice"),
        ("CREATE TABLE t (a INT) COMMENT = 5", "COMMENT has to be a text in quotes"),
    ],
)
def test_options_without_effect_are_checked(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        read(text)


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        (
            f"CREATE DYNAMIC TABLE b {LAG} COPY GRANTS AS SELECT k FROM l",
            "COPY GRANTS .* CREATE DYNAMIC TABLE",
        ),
        (f"CREATE DYNAMIC TABLE b (k) {LAG} AS SELECT k FROM l", "a list of columns .* name them by AS"),
        (f"CREATE DYNAMIC TABLE b {LAG} CLUSTER BY (random()) AS SELECT k FROM l", r"RANDOM\(\) is volatile"),
        ("CREATE TEMPORARY TABLE t (a INT)", "TEMPORARY .* CREATE TABLE"),
        ("CREATE SECURE VIEW v AS SELECT k FROM l", "SECURE .* CREATE VIEW"),
        ("CREATE VIEW v CLUSTER BY (k) AS SELECT k FROM l", r"CLUSTER BY .* CREATE VIEW"),
        ("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 3", "DATA_RETENTION_TIME_IN_DAYS"),
    ],
)
def test_other_options_are_refused_by_name(text: str, construct: str) -> None:
    with pytest.raises(Refused, match=f"^{construct}"):
        read(text)


@pytest.mark.parametrize("constraint", ["NOT NULL", "DEFAULT 1", "AUTOINCREMENT", "PRIMARY KEY", "UNIQUE"])
def test_what_would_restrict_or_fill_a_column_is_refused(constraint: str) -> None:
    """It was ignored: a NULL could be inserted into a column that is NOT NULL, and a default was none."""
    with pytest.raises(Refused, match=f"^{constraint} is not supported of a column: leave it out of a"):
        read(f"CREATE TABLE t (a INT {constraint})")


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("SHOW TABLES", "SHOW"),
        ("CALL f()", "CALL"),
        ("", "nothing"),
        ("CREATE TASK t AS SELECT 1", "CREATE TASK t AS SELECT 1"),
        (f"CREATE DYNAMIC TABLE b {LAG} REQUIRE USER AS SELECT 1", r"CREATE DYNAMIC TABLE b .* \.\.\."),
    ],
)
def test_other_statements_are_refused_by_their_beginning(text: str, beginning: str) -> None:
    with pytest.raises(InputError, match=f"^{beginning} is no statement that is known here"):
        read(text)
