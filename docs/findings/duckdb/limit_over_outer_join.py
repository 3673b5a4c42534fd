"""DuckDB 2.0.0: LIMIT over an outer join is dropped where statistics prove one side empty."""
import duckdb


def ask(name, query, switch="SELECT 1", right="-1"):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE l AS SELECT range AS b FROM range(3)")
    connection.execute(f"CREATE TABLE r AS SELECT unnest([{right}]) AS a")
    connection.execute(switch)
    plan = connection.execute(f"EXPLAIN {query}").fetchone()[1]
    print(f"{name:30}", "limited  " if "Limit" in plan or "Top N" in plan else "unlimited", connection.execute(query).fetchall())


print("duckdb", duckdb.__version__)
QUERY = "SELECT b, a FROM l LEFT JOIN (SELECT * FROM r WHERE a > 0) r ON a = b LIMIT 1"
print(QUERY)
ask("as is", QUERY)
ask("LIMIT 2", QUERY.replace("LIMIT 1", "LIMIT 2"))
ask("counted", f"SELECT count(*) FROM ({QUERY})")
ask("FULL JOIN", QUERY.replace("LEFT", "FULL"))
ask("RIGHT JOIN, sides swapped", "SELECT b, a FROM (SELECT * FROM r WHERE a > 0) r RIGHT JOIN l ON a = b LIMIT 1")
ask("ON a > b", QUERY.replace("a = b", "a > b"))
ask("OFFSET 1", QUERY + " OFFSET 1")
ask("ORDER BY", QUERY.replace("LIMIT", "ORDER BY b LIMIT"))
ask("r holds 7 too", QUERY, right="-1, 7")
ask("no filter", QUERY.replace(" WHERE a > 0", ""))
for optimizer in ("statistics_propagation", "projection_pullup", "filter_pushdown", "limit_pushdown", "join_order"):
    ask(f"without {optimizer}", QUERY, f"SET disabled_optimizers = '{optimizer}'")
ask("PRAGMA disable_optimizer", QUERY, "PRAGMA disable_optimizer")
