"""SQL becomes statements of the catalog and bound queries, or is refused by one sentence that says what."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from maintaining import TABLES, evaluated, maintained, query

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.lags import DOWNSTREAM
from dynamic_tables.sql.definitions import BoundTable, BoundView, SqlDefinition, bind_definition, bind_view
from dynamic_tables.sql.statements import Refresh, read_statement
from dynamic_tables.values.errors import CastFailed, DivisionByZero, Refused, UserError
from dynamic_tables.values.types import INTEGER, TEXT, TIMESTAMP, VARIANT, Field, decimal
from pruning.errors import InputError

OPTIONS = "TARGET_LAG = '5 minutes' WAREHOUSE = wh"


def read(text: str) -> object:
    return read_statement(text, TABLES.get)


def test_a_dynamic_table_has_lag_warehouse_mode_and_query() -> None:
    found = read(
        "CREATE OR REPLACE DYNAMIC TABLE a.B TARGET_LAG = '2 hours' WAREHOUSE = Wh REFRESH_MODE = FULL "
        "INITIALIZE = ON_SCHEDULE AS SELECT k FROM l"
    )
    assert found == ddl.CreateDynamicTable(
        name="a.b",
        definition=SqlDefinition("SELECT k FROM l"),
        lag=7_200_000_000,
        warehouse="wh",
        mode=ddl.Mode.FULL,
        initialize=ddl.Initialize.ON_SCHEDULE,
        replace=True,
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("TARGET_LAG = '5 minutes'", "b has no WAREHOUSE"),
        ("WAREHOUSE = wh", "b has no TARGET_LAG"),
        ("WAREHOUSE = wh TARGET_LAG = '59 seconds'", "below the minimum of one minute"),
        ("WAREHOUSE = wh TARGET_LAG = 'soon'", "TARGET_LAG is DOWNSTREAM or like '5 minutes', not 'soon'"),
        (f"{OPTIONS} REFRESH_MODE = SOMETIMES", "REFRESH_MODE is FULL or INCREMENTAL, not SOMETIMES"),
        (f"{OPTIONS} INITIALIZE = LATER", "INITIALIZE is ON_CREATE or ON_SCHEDULE, not LATER"),
        (f"{OPTIONS} COLOUR = red", "COLOUR is not supported"),
    ],
)
def test_a_dynamic_table_without_what_it_needs_is_refused(text: str, wrong: str) -> None:
    """R-DVS-01, R-DVS-12."""
    with pytest.raises(InputError, match=wrong):
        read(f"CREATE DYNAMIC TABLE b {text} AS SELECT k FROM l")


def test_auto_is_incremental_where_that_can_be() -> None:
    """R-DVS-20: the mode is chosen once, at creation."""
    created = [
        read(f"CREATE DYNAMIC TABLE b {OPTIONS} REFRESH_MODE = AUTO AS {text}")
        for text in ("SELECT k FROM l", "SELECT count(*) c FROM l")
    ]
    assert [one.mode for one in created] == [ddl.Mode.INCREMENTAL, ddl.Mode.FULL]


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("SELECT count(*) c FROM l", "an aggregate without GROUP BY"),
        ("SELECT k, sum(k) OVER (ORDER BY k) s FROM l", "a window function without PARTITION BY"),
        ("SELECT a.s FROM (SELECT k, sum(f) s FROM f GROUP BY k) a JOIN f ON a.s = f.f", "a join on a float"),
        (
            "SELECT s, count(*) c FROM (SELECT k, sum(f) s FROM f GROUP BY k) GROUP BY s",
            "grouping by a float",
        ),
        ("SELECT DISTINCT s FROM (SELECT k, avg(f) s FROM f GROUP BY k)", "DISTINCT of a float"),
        (
            "SELECT DISTINCT m FROM (SELECT k % 2 t, max(s) m FROM (SELECT k, sum(f) s FROM f GROUP BY k) "
            "GROUP BY k % 2)",
            "DISTINCT of a float",
        ),
        (
            "SELECT DISTINCT m FROM (SELECT lag(s) OVER (PARTITION BY k % 2 ORDER BY k) m "
            "FROM (SELECT k, sum(f) s FROM f GROUP BY k))",
            "DISTINCT of a float",
        ),
    ],
)
def test_incremental_refuses_by_name_what_full_evaluates(text: str, construct: str) -> None:
    """R-DVS-22, R-DVS-29, trap 44. Who asks for INCREMENTAL never gets FULL in silence."""
    with pytest.raises(
        Refused, match=f"{construct}.* cannot be maintained incrementally; use REFRESH_MODE = FULL"
    ):
        read(f"CREATE DYNAMIC TABLE b {OPTIONS} REFRESH_MODE = INCREMENTAL AS {text}")
    assert read(f"CREATE DYNAMIC TABLE b {OPTIONS} REFRESH_MODE = FULL AS {text}").mode is ddl.Mode.FULL
    evaluated(text, {})


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("SELECT (SELECT max(k) FROM r) m FROM l", "a scalar subquery"),
        ("SELECT k FROM l WHERE k IN (SELECT k FROM r)", r"IN \(SELECT ...\)"),
        ("SELECT k FROM l WHERE k NOT IN (SELECT k FROM r)", "a comparison with a subquery"),
        ("SELECT k FROM l WHERE EXISTS (SELECT 1 FROM r)", "EXISTS"),
        ("SELECT l.k FROM l ASOF JOIN r MATCH_CONDITION (l.k >= r.k)", "ASOF JOIN"),
        ("SELECT * FROM l MATCH_RECOGNIZE (ORDER BY k PATTERN (a) DEFINE a AS true)", "MATCH_RECOGNIZE"),
        ("SELECT k FROM l LIMIT 3", "LIMIT"),
        ("SELECT k FROM l INTERSECT SELECT k FROM r", "INTERSECT"),
        ("SELECT l.k FROM l NATURAL JOIN r", "NATURAL JOIN"),
        ("SELECT k FROM l SAMPLE (10)", "SAMPLE"),
        ("SELECT k FROM l AT (OFFSET => -60)", "AT or BEFORE"),  # trap 30: a source that is pinned
        ("SELECT * FROM l PIVOT (max(k) FOR x IN ('a')) p", "PIVOT"),
        ("SELECT k FROM l GROUP BY k WITH ROLLUP", "WITH ROLLUP"),
        ("WITH RECURSIVE c AS (SELECT k FROM l) SELECT k FROM c", "WITH RECURSIVE"),
        ("SELECT array_agg(x) g FROM l GROUP BY k", "aggregate ARRAY_AGG"),
        ("SELECT soundex(x) g FROM l", "function SOUNDEX"),
        ("SELECT round(d, 1, 'HALF_TO_EVEN') g FROM d", r"a rounding mode is not supported in ROUND\("),
        ("SELECT floor(d, 1) g FROM d", r"a number of digits is not supported in FLOOR\("),
        ("SELECT try_parse_json(x) g FROM l", "TRY_PARSE_JSON"),
        ("SELECT greatest_ignore_nulls(k, 1) g FROM l", "IGNORE NULLS is not supported in GREATEST"),
        ("SELECT x::BINARY(1) g FROM l", r"length of BINARY\(1\)"),
        ("SELECT try_cast(x AS TIMESTAMP_NTZ(3)) g FROM l", r"length of TIMESTAMPNTZ\(3\)"),
        ("SELECT k FROM l WHERE k BETWEEN SYMMETRIC 3 AND 1", "SYMMETRIC is not supported in BETWEEN"),
        ("SELECT first_value(x) IGNORE NULLS OVER (PARTITION BY k ORDER BY x) n FROM l", "IGNORE NULLS"),
        ("SELECT nth_value(x, 2) OVER (PARTITION BY k ORDER BY x) n FROM l", "window function NTH_VALUE"),
        ("SELECT 1 one", "SELECT without FROM"),
    ],
)
def test_what_no_mode_evaluates_is_refused_by_name(text: str, construct: str) -> None:
    """R-DVS-22."""
    with pytest.raises(Refused, match=f"^(the )?{construct}"):
        query(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SELECT k FROM nowhere", "there is no table or view nowhere"),
        ("SELECT l.nothing FROM l", "there is no column l.nothing"),
        ("SELECT k FROM l JOIN r ON l.k = r.k", "the column k is in several tables"),
        ("SELECT l.k, r.k FROM l JOIN r ON l.k = r.k", "two columns are called k"),
        ("SELECT a.k FROM l a JOIN l a ON a.k = a.k", "two tables in FROM are called a"),
        ("SELECT k, x FROM l GROUP BY k", "x is neither in GROUP BY nor in an aggregate"),
        ("SELECT k FROM l UNION ALL SELECT k, x FROM l", "the inputs of a UNION have 1 and 2 columns"),
        ("SELECT k + x s FROM l", "takes numbers, not TEXT"),
        ("SELECT k FROM l WHERE k = x", "no common type"),
        ("SELECT k FROM", "this is no SQL: .* in line 1"),
        ("SELECT k FROM l; SELECT k FROM l", "one statement is expected"),
        ("DROP TABLE l", "a definition has to be a SELECT"),
    ],
)
def test_what_cannot_be_bound_is_told_in_one_sentence(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong) as told:
        query(text)
    assert "\n" not in str(told.value)


STATEMENTS = {
    "CREATE OR REPLACE TABLE s.t (a INT, b NUMBER(10, 2), c VARIANT, d TIMESTAMP_NTZ)": ddl.CreateTable(
        "s.t",
        (Field("a", INTEGER), Field("b", decimal(2)), Field("c", VARIANT), Field("d", TIMESTAMP)),
        True,
    ),
    "CREATE VIEW v AS SELECT k FROM l": ddl.CreateView("v", SqlDefinition("SELECT k FROM l")),
    "CREATE TABLE b CLONE a": ddl.Clone("a", "b"),
    "CREATE DYNAMIC TABLE b CLONE a": ddl.Clone("a", "b"),
    "CREATE SCHEMA b CLONE a": ddl.CloneSchema("a", "b"),
    "DROP TABLE s.t": ddl.Drop("s.t"),
    'DROP DYNAMIC TABLE "S"."t"': ddl.Drop("S.t"),
    "UNDROP TABLE t": ddl.Undrop("t"),
    "UNDROP DYNAMIC TABLE t;": ddl.Undrop("t"),
    "ALTER TABLE a RENAME TO b": ddl.Rename("a", "b"),
    "ALTER DYNAMIC TABLE a SWAP WITH b": ddl.Swap("a", "b"),
    "ALTER SCHEMA a RENAME TO b": ddl.RenameSchema("a", "b"),
    "ALTER SCHEMA a SWAP WITH b": ddl.SwapSchemas("a", "b"),
    "ALTER TABLE t ADD COLUMN c NUMBER(8, 2)": ddl.AddColumn("t", Field("c", decimal(2))),
    "ALTER TABLE t DROP COLUMN c": ddl.DropColumn("t", "c"),
    "ALTER DYNAMIC TABLE d SUSPEND": ddl.Suspend("d"),
    "ALTER DYNAMIC TABLE d RESUME": ddl.Resume("d"),
    "ALTER DYNAMIC TABLE d REFRESH": Refresh("d"),
    "ALTER DYNAMIC TABLE d SET TARGET_LAG = DOWNSTREAM": ddl.SetLag("d", DOWNSTREAM),
    "alter dynamic table d set target_lag = '1 minute'": ddl.SetLag("d", 60_000_000),
    "GRANT MONITOR ON DYNAMIC TABLE d TO ROLE r": ddl.Grant(ddl.Privilege.MONITOR, "d", "r"),
    "REVOKE OPERATE ON DYNAMIC TABLE d FROM ROLE r": ddl.Revoke(ddl.Privilege.OPERATE, "d", "r"),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements_become_what_the_catalog_takes(text: str) -> None:
    assert read(text) == STATEMENTS[text]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("DROP t", "DYNAMIC TABLE or TABLE or VIEW is expected before 't' in line 1"),
        ("DROP TABLE t now", "nothing more is expected before 'now'"),
        ("ALTER TABLE t SUSPEND", "RENAME TO or SWAP WITH or ADD COLUMN or DROP COLUMN is expected"),
        ("ALTER TABLE", "a name is expected at the end"),
        ("ALTER TABLE t ADD COLUMN c colourful wide", "is no type of a column"),
        ("CREATE SEQUENCE t", "of this form is not supported"),
        ("SELECT k FROM l", "SELECT is no statement that is known here"),
        ("CREATE TABLE t (a GEOGRAPHY)", "the type GEOGRAPHY is not supported"),
    ],
)
def test_statements_that_are_not_known_are_told(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        read(text)


def test_names_read_are_those_of_tables_and_not_of_with() -> None:
    text = """WITH c AS (SELECT k FROM s.l)
              SELECT c.k FROM c JOIN R ON c.k = R.k JOIN (SELECT k FROM l) q ON q.k = c.k"""
    assert SqlDefinition(text).reads == ("s.l", "r", "l")


def test_views_are_expanded_by_their_own_names() -> None:
    inner = {"base": TABLES["l"]}
    names = {"v": bind_view(SqlDefinition("SELECT k, x FROM base WHERE k > 1"), inner.get)}
    found = bind_definition(SqlDefinition("SELECT a.k, b.x FROM v a JOIN v b ON a.k = b.k"), names.get)
    assert found.sources == ("L",)
    assert list(BagBackend().full(found, {"L": {"1": (1, "a"), "2": (2, "b")}}).values()) == [(2, "b")]


def test_a_view_that_reads_itself_is_told() -> None:
    names: dict[str, BoundView] = {}
    names["v"] = bind_view(SqlDefinition("SELECT k FROM v"), names.get)
    with pytest.raises(InputError, match="the view v reads itself"):
        bind_definition(SqlDefinition("SELECT k FROM v"), names.get)


def test_used_columns_are_those_that_are_read() -> None:
    """R-DVS-43: an unused column does not count, SELECT * uses all."""
    text = "SELECT a.k, upper(b.x) u FROM n a LEFT JOIN l b ON a.k = b.k AND b.x > 'c'"
    assert query(text).used_columns == {"N": {"k"}, "L": {"k", "x"}}
    assert query("SELECT * FROM n").used_columns == {"N": {"k", "n", "unused"}}
    assert query("SELECT count(*) c FROM n").used_columns == {"N": frozenset()}


def test_fingerprints_tell_definitions_apart_and_not_their_spelling() -> None:
    """R-DVS-44."""
    text = "SELECT k, sum(n) s FROM n GROUP BY k"
    same = query("select q.key as K, q.total as S from (select k as key, sum(n) total from n group by 1) q")
    assert query(text).fingerprint == query(text.lower()).fingerprint
    others = [
        "SELECT k, sum(n) t FROM n GROUP BY k",
        "SELECT k, max(n) s FROM n GROUP BY k",
        "SELECT k, n s FROM n",
    ]
    found = {query(other).fingerprint for other in (text, *others)}
    assert len(found) == 4
    assert same.columns == ("k", "s")


def test_an_added_column_changes_no_fingerprint_unless_it_is_read() -> None:
    fields = TABLES["n"].fields
    wider = {"n": BoundTable("N", (Field("new", TEXT), *fields), (3, 0, 1, 2))}
    for text, same in (("SELECT k, n FROM n", True), ("SELECT * FROM n", False)):
        assert (
            bind_definition(SqlDefinition(text), wider.get).fingerprint == query(text).fingerprint
        ) is same
    found = bind_definition(SqlDefinition("SELECT new, k FROM n"), wider.get)
    assert BagBackend().full(found, {"N": {"1": (1, 2, "u", "new")}}) == {"1": ("new", 1)}


def test_a_clone_is_the_same_query_over_other_sources() -> None:
    """R-DVS-46."""
    clone = query("SELECT k FROM l").with_sources({"L": "L2"})
    assert clone.sources == ("L2",)
    assert clone.fingerprint == query("SELECT k FROM l").with_sources({"L": "L2"}).fingerprint
    assert clone.fingerprint != query("SELECT k FROM l").fingerprint


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT 1 / k v FROM l", DivisionByZero),
        ("SELECT k % 0 v FROM l", DivisionByZero),
        ("SELECT x::int v FROM l", CastFailed),
        ("SELECT parse_json(x) v FROM l", CastFailed),
    ],
)
def test_faults_of_the_data_are_errors_of_the_user(text: str, error: type[UserError]) -> None:
    """R-DVS-33; the cause gone, the result is maintained from where it was (R-DVS-35)."""
    wrong, right = {"l": {"1": (0, "?")}}, {"l": {"1": (1, "1")}}
    with pytest.raises(error):
        evaluated(text, wrong)
    if "%" not in text:
        assert len(maintained(text, {}, right)) == 1


EXPRESSIONS = {
    "n / 4": Decimal("1.750000"),
    "n * 1.10": Decimal("7.70"),
    "d + 1": Decimal("3.25"),
    "-d": Decimal("-2.25"),
    "n % 4": 3,
    "mod(-7, 4)": -3,
    "round(2.5)": Decimal("3"),
    "round(-2.5)": Decimal("-3"),
    "floor(-0.5)": -1,
    "abs(-3)": 3,
    "coalesce(NULL, n)": 7,
    "nullif(n, 7)": None,
    "iff(n > 5, 'big', 'small')": "big",
    "CASE n WHEN 7 THEN 'seven' ELSE 'other' END": "seven",
    "CASE WHEN n = 0 THEN 1 / n END": None,
    "n IN (1, 7)": True,
    "n IN (1, NULL)": None,
    "n NOT BETWEEN 1 AND 5": True,
    "NULL AND FALSE": False,
    "NULL OR FALSE": None,
    "NULL IS NOT DISTINCT FROM NULL": True,
    "x LIKE 'h_ll%'": True,
    "upper(x) || '!'": "HELLO!",
    "substr(x, 2, 3)": "ell",
    "length(x)": 5,
    "greatest(1, n, 3)": 7,
    "n::text": "7",
    "d::text": "2.25",
    "'1.5'::double": 1.5,
    "'nan'::double = 'nan'::double": True,
    "'nan'::double IS NOT DISTINCT FROM 'nan'::double": True,
    "'nan'::double::variant = 'nan'::double::variant": True,
    "'nan'::double::variant <> 'nan'::double::variant": False,
    "'nan'::double > 'inf'::double": True,
    "try_cast(x AS int)": None,
    "date_trunc('month', at)": datetime(2025, 3, 1),
    "date_trunc(week, at)": datetime(2025, 3, 10),
    "datediff(hour, at, at + INTERVAL '90 minutes')": 2,
    "dateadd(month, -1, '2025-03-31'::date)": date(2025, 2, 28),
    "at - INTERVAL '1 day' < at": True,
    "payload:a.b[1]": 5,
    "payload:a['b'][0]::int": 4,
    "payload:missing.deeper": None,
    "payload:when::timestamp": datetime(2025, 1, 2),
    "parse_json('[1, {\"a\": null}]')[1]:a": None,
    "array_size(payload:a.b)": 2,
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_mean_what_snowflake_says(text: str) -> None:
    fields = {"n": INTEGER, "d": decimal(2), "x": TEXT, "at": TIMESTAMP, "payload": VARIANT}
    table = BoundTable("P", tuple(Field(name, kind) for name, kind in fields.items()))
    found = bind_definition(SqlDefinition(f"SELECT {text} AS v FROM p"), {"p": table}.get)
    payload = {"a": {"b": (4, 5)}, "when": "2025-01-02"}
    row = (7, Decimal("2.25"), "hello", datetime(2025, 3, 14, 9, 30), payload)
    assert BagBackend().full(found, {"P": {"1": row}}) == {"1": (EXPRESSIONS[text],)}


LISTING = {
    "train_events": BoundTable("t1", (Field("id", INTEGER), Field("type", TEXT), Field("payload", VARIANT))),
    "schedule": BoundTable(
        "t2", (Field("id", INTEGER), Field("train_id", INTEGER), Field("expected_arrival_time", TIMESTAMP))
    ),
}
ARRIVALS = """
CREATE DYNAMIC TABLE train_arrivals TARGET_LAG = DOWNSTREAM WAREHOUSE = trains_wh AS
SELECT e.payload:train_id::int train_id, e.payload:time::timestamp arrival_time,
       stop.value:schedule_id::int schedule_id
FROM train_events e, LATERAL FLATTEN(input => e.payload:stops) stop
WHERE e.type = 'ARRIVAL'
"""
DELAYED = """
CREATE DYNAMIC TABLE delayed_trains TARGET_LAG = '1 minute' WAREHOUSE = trains_wh AS
SELECT a.train_id, date_trunc(hour, s.expected_arrival_time) AS hour,
       count_if(a.arrival_time - s.expected_arrival_time > INTERVAL '10 minutes') AS num_delays
FROM train_arrivals a JOIN schedule s ON a.schedule_id = s.id
GROUP BY ALL
"""


def test_the_listing_of_delayed_trains_runs() -> None:
    """R-DVS-11: in the spirit of Listing 1 of [D]; names of columns, the threshold and the stops are ours."""
    names = dict(LISTING)
    arrivals = read_statement(ARRIVALS, names.get)
    upstream = bind_definition(arrivals.definition, names.get)
    names["train_arrivals"] = BoundTable("t3", upstream.fields)
    delayed = read_statement(DELAYED, names.get)
    downstream = bind_definition(delayed.definition, names.get)
    assert (arrivals.lag, delayed.lag) == (DOWNSTREAM, 60_000_000)
    assert arrivals.mode is delayed.mode is ddl.Mode.INCREMENTAL
    noon = datetime(2025, 1, 1, 12)
    late = str(noon + timedelta(minutes=25))
    event = (1, "ARRIVAL", {"train_id": 7, "time": late, "stops": ({"schedule_id": 1}, {"schedule_id": 2})})
    schedule = {"a": (1, 7, noon), "b": (2, 7, noon + timedelta(minutes=20))}
    backend = BagBackend()
    arrived = backend.full(upstream, {"t1": {"1": event, "2": (2, "DEPARTURE", {})}})
    found = backend.full(downstream, {"t3": arrived, "t2": schedule})
    assert list(found.values()) == [(7, noon, 1)]
