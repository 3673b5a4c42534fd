"""Where Spark itself does not answer as SQL says: each known case fails here once it is gone."""


def test_spark_drops_the_order_of_a_limited_subquery_below_an_outer_join(spark):
    """From 3.5 to 4.3: the outer LIMIT is pushed to the preserved side, and the ORDER BY there dropped."""
    last = "SELECT id FROM range(40) ORDER BY id DESC LIMIT 24"
    rows = spark.sql(
        f"SELECT * FROM ({last}) l LEFT JOIN (SELECT id k FROM range(3)) ON id = k LIMIT 5"
    ).collect()
    assert min(row.id for row in rows) < 40 - 24, "Spark answers rightly now: forget this case"
