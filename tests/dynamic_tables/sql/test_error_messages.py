"""Refusals: one sentence with the words of the user, never with the name of a class of the parser."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from maintaining import TABLES, query
from sqlglot import exp

from dynamic_tables.sql.selects import read_select
from dynamic_tables.sql.statements import read_statement
from dynamic_tables.sql.times import PARTS
from dynamic_tables.sql.writes import read_write
from dynamic_tables.values.functions import FUNCTIONS, LAZY
from pruning.errors import InputError

LAG = "TARGET_LAG = '5 minutes' WAREHOUSE = wh"


def subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    """A class and all that derive from it."""
    yield kind
    for derived in kind.__subclasses__():
        yield from subclasses(derived)


# Names of several words: SELECT and COLUMN are classes, too, but they are words of SQL.
CLASSES = {
    kind.__name__.lower()
    for kind in subclasses(exp.Expression)
    if len(re.findall("[A-Z]", kind.__name__)) > 1
}


def class_names(message: str, text: str) -> list[str]:
    """Names of classes in a message, however they are written, which its reader did not write."""
    words = {word.lower() for word in re.findall(r"\w+", message)} - PARTS.keys()
    names = [word for word in words if word.replace("_", "") in CLASSES and word not in text.lower()]
    return names + [part for part in ("<class", "sqlglot") if part in message]


def refusal(text: str, read: Callable[[str], object]) -> str:
    """The sentence by which a text is refused; empty if it is read."""
    try:
        read(text)
    except InputError as error:
        return str(error)
    return ""


def as_definition(text: str) -> object:
    """Read a query of a dynamic table."""
    return query(text)


def as_answer(text: str) -> object:
    """Read a query for an answer."""
    return read_select(text, TABLES.get)


def as_write(text: str) -> object:
    """Read a statement that changes rows."""
    return read_write(text, TABLES.get) or read_statement(text, TABLES.get)


def as_statement(text: str) -> object:
    """Read a statement that creates or changes a table."""
    return read_statement(text, TABLES.get)


CALLED = sorted({*exp.FUNCTION_BY_NAME, *(name for name in (*FUNCTIONS, *LAZY) if name.isidentifier())})


def test_the_parser_says_nothing_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    """It warned of a 'Command' on the standard error."""
    for text in ("CREATE TASK t AS SELECT 1", "SELECT array_any(x) FROM l"):
        assert refusal(text, as_statement if text.startswith("CREATE") else as_definition)
    assert not caplog.records


@pytest.mark.parametrize("arguments", ["", "x", "k", "k, x", "x, x, x", "'a', x, 1", "DISTINCT x", "*"])
def test_functions_are_refused_without_names_of_classes(arguments: str) -> None:
    """Each name that the parser knows, whatever its arguments, is bound or refused."""
    refused = 0
    for name in CALLED:
        text = f"SELECT {name}({arguments}) AS v FROM l"
        message = refusal(text, as_definition)
        assert not class_names(message, text), (text, message)
        assert "\n" not in message
        refused += bool(message)
    assert refused > 500


@pytest.mark.parametrize("behind", ["OVER (PARTITION BY k ORDER BY x)", "WITHIN GROUP (ORDER BY x)"])
def test_functions_over_rows_are_refused_without_names_of_classes(behind: str) -> None:
    for name in CALLED:
        text = f"SELECT k, {name}(x) {behind} AS v FROM l GROUP BY k, x"
        message = refusal(text, as_definition)
        assert not class_names(message, text), (text, message)


QUERIES = """\
SELECT k FROM l INTERSECT SELECT k FROM r
SELECT k FROM l EXCEPT SELECT k FROM r
SELECT k FROM l MINUS SELECT k FROM r
SELECT k FROM l UNION BY NAME SELECT k FROM r
SELECT TOP 3 k FROM l
SELECT k FROM l LIMIT 3
SELECT k FROM l FETCH FIRST 3 ROWS ONLY
SELECT DISTINCT ON (k) k FROM l
SELECT k FROM l FOR UPDATE
SELECT k INTO t FROM l
SELECT * EXCLUDE (k) FROM l
SELECT * REPLACE (1 AS k) FROM l
SELECT * ILIKE '%k%' FROM l
SELECT $1 FROM l
SELECT :name FROM l
SELECT ? FROM l
SELECT k FROM l SAMPLE (10)
SELECT k FROM l TABLESAMPLE BERNOULLI (10)
SELECT k FROM @stage
SELECT k FROM TABLE(generator(rowcount => 3))
SELECT k FROM l, TABLE(f(k))
SELECT k FROM l, LATERAL (SELECT k FROM r) q
SELECT k FROM l LEFT JOIN LATERAL FLATTEN(items) f ON true
SELECT k FROM l SEMI JOIN r ON l.k = r.k
SELECT k FROM l ANTI JOIN r ON l.k = r.k
SELECT k FROM l NATURAL JOIN r
SELECT l.k FROM l ASOF JOIN r MATCH_CONDITION (l.k >= r.k)
SELECT k FROM l AT (OFFSET => -60)
SELECT k FROM l CHANGES (INFORMATION => DEFAULT) AT (OFFSET => -60)
SELECT * FROM l PIVOT (max(k) FOR x IN ('a')) p
SELECT * FROM l UNPIVOT (k FOR x IN (a, b)) p
SELECT * FROM l MATCH_RECOGNIZE (ORDER BY k PATTERN (a) DEFINE a AS true)
SELECT k FROM l START WITH k = 1 CONNECT BY k = PRIOR k
SELECT k FROM l WHERE k IN (SELECT k FROM r)
SELECT k FROM l WHERE k NOT IN (SELECT k FROM r)
SELECT k FROM l WHERE EXISTS (SELECT 1 FROM r)
SELECT k FROM l WHERE k = ANY (SELECT k FROM r)
SELECT k FROM l WHERE k > ALL (SELECT k FROM r)
SELECT (SELECT max(k) FROM r) m FROM l
SELECT ARRAY(SELECT k FROM r) m FROM l
SELECT k FROM l WHERE (k, x) IN ((1, 'a'))
SELECT k FROM l WHERE (k, x) = (1, 'a')
SELECT k FROM l WHERE x LIKE ANY ('a', 'b')
SELECT k FROM l WHERE x ILIKE 'a'
SELECT k FROM l WHERE x RLIKE 'a'
SELECT k FROM l WHERE x REGEXP 'a'
SELECT k FROM l WHERE x SIMILAR TO 'a'
SELECT k FROM l WHERE x LIKE 'a' ESCAPE '^'
SELECT k FROM l WHERE x BETWEEN SYMMETRIC 'a' AND 'b'
SELECT x COLLATE 'de' FROM l
SELECT x::GEOGRAPHY FROM l
SELECT x::TIME FROM l
SELECT x::TIMESTAMP_TZ FROM l
SELECT x::TIMESTAMP_LTZ FROM l
SELECT x::VECTOR(FLOAT, 3) FROM l
SELECT x::ARRAY(INT) FROM l
SELECT x::MAP(TEXT, INT) FROM l
SELECT CAST(x AS DATE FORMAT 'YYYY') FROM l
SELECT TIME '10:00:00' FROM l
SELECT INTERVAL '1 month' FROM l
SELECT INTERVAL '1 day 2 hours' FROM l
SELECT x AT TIME ZONE 'UTC' FROM l
SELECT {'a': 1} v FROM l
SELECT [1, 2][0:1] v FROM l
SELECT k | 1, k & 1, k ^ 1, ~k FROM l
SELECT k << 1 FROM l
SELECT k ** 2 FROM l
SELECT k DIV 2 FROM l
SELECT x -> x FROM l
SELECT transform(items, x -> x + 1) FROM e
SELECT reduce(items, 0, (a, b) -> a + b) FROM e
SELECT payload:a.*.b FROM e
SELECT current_timestamp FROM l
SELECT current_timestamp() FROM l
SELECT sysdate() FROM l
SELECT random() FROM l
SELECT uuid_string() FROM l
SELECT current_user() FROM l
SELECT seq4() FROM l
SELECT s.nextval FROM l
SELECT my_function(k) FROM l
SELECT s.my_function(k) FROM l
SELECT IDENTIFIER('k') FROM l
SELECT k FROM IDENTIFIER('l')
SELECT count(*) FILTER (WHERE k > 1) FROM l
SELECT array_agg(x) FROM l
SELECT object_agg(x, k) FROM l
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY k) FROM l
SELECT approx_count_distinct(k) FROM l
SELECT count(DISTINCT k, x) FROM l
SELECT count(k, x) FROM l
SELECT count(l.*) FROM l
SELECT hash_agg(*) FROM l
SELECT k FROM l GROUP BY k WITH CUBE
SELECT k FROM l GROUP BY k WITH TOTALS
SELECT k, first_value(x) IGNORE NULLS OVER (PARTITION BY k ORDER BY x) FROM l
SELECT k, sum(k) OVER (ORDER BY k GROUPS 1 PRECEDING) FROM l
SELECT k, sum(k) OVER (ORDER BY k ROWS CURRENT ROW EXCLUDE TIES) FROM l
SELECT k, conditional_true_event(k > 1) OVER (PARTITION BY k ORDER BY x) FROM l
SELECT k, sum(DISTINCT k) OVER (PARTITION BY x) FROM l
WITH RECURSIVE c AS (SELECT k FROM l) SELECT k FROM c
SELECT 1
VALUES (1, 2)
SHOW TABLES
DESCRIBE TABLE l
SELECT k FROM l QUALIFY
SELECT k FROM l WHERE
SELECT k FROM l ->> SELECT 1
SELECT TRY_PARSE_JSON(x) FROM l
SELECT trim(x, 'a') FROM l
SELECT split_part(x, 'a') FROM l
SELECT round(k, 1, 'HALF_TO_EVEN') FROM l
SELECT decode(k, 1, 2) FROM l
SELECT CASE k WHEN 1 THEN 2 WHEN THEN 3 END FROM l
SELECT date_trunc(k, x) FROM l
SELECT convert_timezone('UTC', x::timestamp) FROM l
SELECT DATE_PART(timezone_hour, x::timestamp) FROM l"""
STATEMENTS = f"""\
CREATE TABLE t LIKE l
CREATE TABLE t
CREATE TABLE t (a INT, UNIQUE (a))
CREATE TABLE t (a INT, PRIMARY KEY (a))
CREATE TABLE t (a INT REFERENCES l (k))
CREATE TABLE t (a INT CHECK (a > 1))
CREATE TABLE t (a INT AS (1 + 1))
CREATE TABLE t (a INT IDENTITY)
CREATE TABLE t (a INT MASKING POLICY p)
CREATE TABLE t (a GEOGRAPHY)
CREATE TABLE t (a INT) ROW ACCESS POLICY p ON (a)
CREATE TABLE t (a INT) WITH TAG (x = '1')
CREATE TABLE t (a INT) ENABLE_SCHEMA_EVOLUTION = TRUE
CREATE TABLE t (a INT) CLUSTER BY (nothing)
CREATE TABLE t (a INT) AS SELECT 1
CREATE TABLE t USING TEMPLATE (SELECT 1)
CREATE TABLE t CLONE l AT (OFFSET => -60)
CREATE OR REPLACE TABLE t CLONE l
CREATE EXTERNAL TABLE t (a INT)
CREATE HYBRID TABLE t (a INT)
CREATE ICEBERG TABLE t (a INT)
CREATE EVENT TABLE t
CREATE GLOBAL TEMPORARY TABLE t (a INT)
CREATE VOLATILE TABLE t (a INT)
CREATE VIEW v (a) AS SELECT k FROM l
CREATE SECURE VIEW v AS SELECT k FROM l
CREATE MATERIALIZED VIEW v AS SELECT k FROM l
CREATE RECURSIVE VIEW v AS SELECT k FROM l
CREATE VIEW v CHANGE_TRACKING = TRUE AS SELECT k FROM l
CREATE DYNAMIC ICEBERG TABLE b {LAG} AS SELECT k FROM l
CREATE DYNAMIC TABLE b {LAG} COPY GRANTS AS SELECT k FROM l
CREATE DYNAMIC TABLE b {LAG} REQUIRE USER AS SELECT k FROM l
CREATE DYNAMIC TABLE b {LAG} IMMUTABLE WHERE (k > 1) AS SELECT k FROM l
CREATE DYNAMIC TABLE b {LAG} BACKFILL FROM c AS SELECT k FROM l
CREATE DYNAMIC TABLE b {LAG} DATA_RETENTION_TIME_IN_DAYS = 1 AS SELECT k FROM l
CREATE DYNAMIC TABLE b (k INT) {LAG} AS SELECT k FROM l
CREATE DYNAMIC TABLE b {LAG}
CREATE DYNAMIC TABLE b {LAG} AS INSERT INTO l VALUES (1, 'a')
CREATE DYNAMIC TABLE b {LAG} AS VALUES (1)
CREATE DYNAMIC TABLE b {LAG} REFRESH_MODE = CUSTOM AS SELECT k FROM l
CREATE TASK t AS SELECT 1
CREATE STREAM s ON TABLE l
CREATE SEQUENCE s
CREATE SCHEMA s
CREATE DATABASE d
CREATE WAREHOUSE w
CREATE ROLE r
CREATE FUNCTION f() RETURNS INT AS '1'
CREATE PROCEDURE p() RETURNS INT LANGUAGE SQL AS '1'
CREATE UNIQUE INDEX i ON t (a)
CREATE STAGE s
CREATE FILE FORMAT f
CREATE
ALTER TABLE t ADD CONSTRAINT c UNIQUE (a)
ALTER TABLE t CLUSTER BY (a)
ALTER DYNAMIC TABLE t SET COMMENT = 'x'
DROP SCHEMA s
USE ROLE r
SET x = 1
CALL p()
COMMENT ON TABLE t IS 'x'
BEGIN
COMMIT
COPY INTO l FROM @s
PUT file://a @s
EXPLAIN SELECT 1
EXECUTE IMMEDIATE 'SELECT 1'"""
WRITES = """\
INSERT INTO nowhere VALUES (1)
INSERT INTO l VALUES (1)
INSERT INTO l (k, nothing) VALUES (1, 2)
INSERT INTO l VALUES (random(), 'a')
INSERT INTO l VALUES (DEFAULT, 'a')
INSERT INTO l SELECT k FROM r
INSERT ALL INTO l VALUES (1, 'a') SELECT 1
INSERT INTO l PARTITION (k = 1) VALUES (1, 'a')
INSERT INTO l VALUES (1, 'a') RETURNING k
INSERT INTO l VALUES (1, 'a') ON CONFLICT DO NOTHING
UPDATE l SET nothing = 1
UPDATE l SET k = 1 WHERE k IN (SELECT k FROM r)
UPDATE l SET (k, x) = (1, 'a')
UPDATE l SET k = 1 RETURNING k
UPDATE l SET k = 1 ORDER BY k LIMIT 1
DELETE FROM l WHERE EXISTS (SELECT 1 FROM r)
DELETE FROM l LIMIT 1
DELETE FROM (SELECT * FROM l)
DELETE FROM l RETURNING k
MERGE INTO l USING r ON l.k = r.k WHEN NOT MATCHED BY SOURCE THEN DELETE
MERGE INTO l USING r ON l.k = r.k WHEN NOT MATCHED THEN INSERT *
MERGE INTO l USING r ON l.k = r.k WHEN MATCHED THEN UPDATE *
MERGE INTO l USING r ON l.k = r.k WHEN MATCHED THEN UPDATE ALL BY NAME
TRUNCATE TABLE l, r
TRUNCATE TABLE l PARTITION (k = 1)"""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        *((text, as_definition) for text in QUERIES.splitlines()),
        *((text, as_answer) for text in QUERIES.splitlines()),
        *((text, as_statement) for text in STATEMENTS.splitlines()),
        *((text, as_write) for text in WRITES.splitlines()),
    ],
)
def test_constructs_are_refused_without_names_of_classes(text: str, read: Callable[[str], object]) -> None:
    message = refusal(text, read)
    assert not class_names(message, text), message
    assert "\n" not in message
    assert read is as_answer or message
