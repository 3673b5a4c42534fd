"""Definitions of dynamic tables, written by hand over the tables of a shop (`shop_tables`).

Each has its own combination of operators. Functions that show the order of rows have an order without ties.
"""

from collections.abc import Mapping

EXPRESSIONS: Mapping[str, str] = {
    "a filter of two conditions": """SELECT id, customer, quantity FROM sales
        WHERE quantity > 1 AND note IS NOT NULL""",
    "NOT of OR with NULLs": "SELECT id, note FROM sales WHERE NOT (quantity > 1 OR customer = 2)",
    "BETWEEN and IN": "SELECT id, day FROM sales WHERE quantity BETWEEN 1 AND 2 AND product IN (1, 3)",
    "texts": "SELECT id, upper(note) || '!' AS loud, length(note) AS size FROM sales WHERE note LIKE 'a%'",
    "a CASE with a branch for NULL": """SELECT id,
        CASE WHEN quantity IS NULL THEN 'none' WHEN quantity < 2 THEN 'few' ELSE 'many' END AS amount_of
        FROM sales""",
    "a CASE of an operand": """SELECT customer,
        CASE region WHEN 'north' THEN 1 WHEN 'south' THEN 2 END AS number FROM customers""",
    "casts": """SELECT id::text AS code, quantity::double AS real_quantity, amount::integer AS whole
        FROM sales""",
    "a cast that may fail": "SELECT id, try_cast(note AS integer) AS number FROM sales",
    "dates": """SELECT id, date_trunc('month', day)::date AS month, datediff(day, '2025-01-01'::date,
        day) AS days, dateadd(day, quantity, day)::date AS delivery FROM sales
        WHERE day >= '2025-01-02'::date""",
    "timestamps": """SELECT customer, hour(began) AS hour, began::date AS day FROM visits
        WHERE minute(began) < 45""",
    "functions of NULL": """SELECT id, coalesce(note, 'nothing') AS text, nullif(quantity, 1) AS other,
        iff(customer = 1, 'first', 'later') AS which FROM sales""",
    "arithmetic": """SELECT id, amount * quantity AS total, quantity % 2 AS parity,
        abs(quantity - 3) AS distance, greatest(coalesce(quantity, 0), 1) AS at_least FROM sales""",
    "columns that are equal or both NULL": """SELECT customer, manager FROM customers
        WHERE customer IS NOT DISTINCT FROM manager""",
    "members of objects": """SELECT customer, page:path::text AS path, page:size::integer AS size
        FROM visits""",
    "a filter by a member": """SELECT customer, seconds FROM visits
        WHERE page:size::integer > 1 OR page:path IS NULL""",
    "a projection that merges rows": "SELECT region, active FROM customers WHERE active OR active IS NULL",
}

JOINS: Mapping[str, str] = {
    "an inner join": """SELECT s.id, s.customer, c.region FROM sales s
        JOIN customers c ON s.customer = c.customer""",
    "a left join": """SELECT s.id, c.region, c.active FROM sales s
        LEFT JOIN customers c ON s.customer = c.customer""",
    "a right join": """SELECT s.id, p.product, p.category FROM sales s
        RIGHT JOIN products p ON s.product = p.product""",
    "a full join": """SELECT s.id, p.category, p.price FROM sales s
        FULL JOIN products p ON s.product = p.product""",
    "a join with a further inequality": """SELECT s.id, p.category FROM sales s
        JOIN products p ON s.product = p.product AND s.amount < p.price""",
    "a left join with a further condition": """SELECT s.id, c.region FROM sales s
        LEFT JOIN customers c ON s.customer = c.customer AND c.active AND s.quantity > 1""",
    "a full join with a further condition": """SELECT s.id, v.seconds FROM sales s
        FULL JOIN visits v ON s.customer = v.customer AND s.quantity < v.seconds""",
    "a join by two keys": """SELECT s.id, v.seconds FROM sales s
        JOIN visits v ON s.customer = v.customer AND s.day = v.began::date""",
    "a join of a table with itself": """SELECT a.region AS low, b.region AS high, a.customer
        FROM customers a JOIN customers b ON a.manager = b.customer""",
    "a left join of a table with itself": """SELECT a.customer, b.active FROM customers a
        LEFT JOIN customers b ON a.manager = b.customer""",
    "pairs of rows of one table": """SELECT a.id AS earlier, b.id AS later, a.product FROM sales a
        JOIN sales b ON a.product = b.product AND a.id < b.id""",
    "a join of three tables": """SELECT s.id, c.region, p.category FROM sales s
        JOIN customers c ON s.customer = c.customer JOIN products p ON s.product = p.product""",
    "an inner join and a left join": """SELECT s.id, c.region, p.price FROM sales s
        JOIN customers c ON s.customer = c.customer LEFT JOIN products p ON s.product = p.product""",
    "a chain of left joins": """SELECT c.customer, s.id, p.category, v.seconds FROM customers c
        LEFT JOIN sales s ON c.customer = s.customer LEFT JOIN products p ON s.product = p.product
        LEFT JOIN visits v ON p.product = v.seconds""",
    "a chain of full joins": """SELECT s.id, c.region, p.category FROM sales s
        FULL JOIN customers c ON s.customer = c.customer FULL JOIN products p ON s.product = p.product""",
    "a left join below a right join": """SELECT s.id, c.region, p.product FROM sales s
        LEFT JOIN customers c ON s.customer = c.customer RIGHT JOIN products p ON s.product = p.product""",
    "a join by an inequality alone": """SELECT s.id, p.product FROM sales s
        JOIN products p ON s.amount > p.price""",
    "a join USING": "SELECT customer, s.id, v.seconds FROM sales s JOIN visits v USING (customer)",
    "a join by WHERE": """SELECT s.id, c.region FROM sales s, customers c
        WHERE s.customer = c.customer AND c.active""",
    "a join by a computed key": """SELECT s.id, c.region FROM sales s
        LEFT JOIN customers c ON s.customer + 1 = c.customer""",
    "rows without partner": """SELECT s.id, s.customer FROM sales s
        LEFT JOIN customers c ON s.customer = c.customer WHERE c.customer IS NULL""",
    "a join in which NULL is equal to NULL": """SELECT a.region, b.category FROM customers a
        JOIN products b ON a.customer IS NOT DISTINCT FROM b.product""",
}

AGGREGATES: Mapping[str, str] = {
    "counts and sums": "SELECT customer, count(*) AS n, sum(quantity) AS s FROM sales GROUP BY customer",
    "a key behind its aggregates": """SELECT sum(quantity) AS s, count(*) AS n, customer FROM sales
        GROUP BY customer""",
    "HAVING": "SELECT product, sum(amount) AS total FROM sales GROUP BY product HAVING count(*) > 2",
    "HAVING of another aggregate": """SELECT region, count(*) AS n FROM customers GROUP BY region
        HAVING max(since) > '2024-02-01'::date OR region IS NULL""",
    "a group by an expression": """SELECT date_trunc('month', day)::date AS month, sum(amount) AS total
        FROM sales GROUP BY date_trunc('month', day)::date""",
    "a group by two keys": """SELECT customer, product, min(day) AS first, max(amount) AS most FROM sales
        GROUP BY customer, product""",
    "distinct values": """SELECT customer, count(DISTINCT product) AS n, sum(DISTINCT quantity) AS s
        FROM sales GROUP BY customer""",
    "a count of what is TRUE": "SELECT region, count_if(active) AS n FROM customers GROUP BY region",
    "an exact average": "SELECT product, avg(quantity) AS mean FROM sales GROUP BY product",
    "sums of doubles": """SELECT category, sum(weight) AS s, avg(weight) AS mean FROM products
        GROUP BY category""",
    "a group by a BOOLEAN": """SELECT active, count(region) AS n, count(*) AS all_rows FROM customers
        GROUP BY active""",
    "texts and dates": """SELECT region, min(since) AS first, max(region) AS same FROM customers
        GROUP BY ALL""",
    "keys alone": "SELECT region, active FROM customers GROUP BY region, active",
    "a group of groups": """SELECT n, count(*) AS customers FROM (SELECT customer, count(*) AS n
        FROM sales GROUP BY customer) GROUP BY n""",
    "the greatest sum of a group of groups": """SELECT product, max(s) AS most, count(*) AS n FROM
        (SELECT product, customer, sum(quantity) AS s FROM sales GROUP BY product, customer)
        GROUP BY product""",
    "a group over a join": """SELECT c.region, sum(s.quantity) AS total FROM sales s
        JOIN customers c ON s.customer = c.customer GROUP BY c.region""",
    "a group over a left join": """SELECT c.region, count(s.id) AS n, max(s.day) AS last FROM customers c
        LEFT JOIN sales s ON c.customer = s.customer GROUP BY c.region""",
    "a group over a full join": """SELECT p.category, count(*) AS n, sum(s.amount) AS total FROM sales s
        FULL JOIN products p ON s.product = p.product GROUP BY p.category""",
    "a group over two joins": """SELECT c.region, p.category, sum(s.amount) AS total FROM sales s
        JOIN customers c ON s.customer = c.customer JOIN products p ON s.product = p.product
        GROUP BY c.region, p.category HAVING sum(s.amount) > 3""",
    "a join of groups": """SELECT a.customer, a.n, b.seconds FROM (SELECT customer, count(*) AS n
        FROM sales GROUP BY customer) a JOIN (SELECT customer, sum(seconds) AS seconds FROM visits
        GROUP BY customer) b ON a.customer = b.customer""",
    "a left join with a group": """SELECT c.customer, c.region, s.total FROM customers c LEFT JOIN
        (SELECT customer, sum(amount) AS total FROM sales GROUP BY customer) s ON c.customer = s.customer""",
    "a join by an aggregate": """SELECT c.region, s.n FROM customers c JOIN
        (SELECT product, count(*) AS n FROM sales GROUP BY product) s ON c.customer = s.n""",
    "a group by a member": """SELECT page:path::text AS path, count(*) AS n, sum(seconds) AS seconds
        FROM visits GROUP BY page:path::text""",
}

DISTINCTS_AND_UNIONS: Mapping[str, str] = {
    "DISTINCT": "SELECT DISTINCT region, active FROM customers",
    "DISTINCT of an expression": """SELECT DISTINCT quantity % 2 AS parity, note IS NULL AS is_silent
        FROM sales""",
    "DISTINCT over a join": """SELECT DISTINCT c.region, p.category FROM sales s
        JOIN customers c ON s.customer = c.customer JOIN products p ON s.product = p.product""",
    "DISTINCT over a full join": """SELECT DISTINCT c.region, s.product FROM sales s
        FULL JOIN customers c ON s.customer = c.customer""",
    "a union of a table with itself": """SELECT customer FROM sales WHERE quantity > 1
        UNION ALL SELECT customer FROM sales WHERE product = 1""",
    "a union of three tables": """SELECT customer, 'sale' AS source FROM sales
        UNION ALL SELECT customer, 'visit' FROM visits UNION ALL SELECT manager, region FROM customers""",
    "a union of columns of other types": """SELECT quantity AS value FROM sales UNION ALL SELECT price
        FROM products""",
    "UNION": "SELECT customer FROM sales UNION SELECT customer FROM visits",
    "a group over a union": """SELECT customer, count(*) AS n FROM (SELECT customer FROM sales
        UNION ALL SELECT customer FROM visits) GROUP BY customer""",
    "a union of groups": """SELECT customer AS key, count(*) AS n FROM sales GROUP BY customer
        UNION ALL SELECT product, sum(quantity) FROM sales GROUP BY product""",
    "a join with a union": """SELECT c.region, u.key FROM customers c JOIN (SELECT customer AS key
        FROM sales UNION ALL SELECT product FROM products) u ON c.customer = u.key""",
}

WINDOWS: Mapping[str, str] = {
    "a number for each row": """SELECT id, row_number() OVER (PARTITION BY customer ORDER BY day DESC,
        id) AS place
        FROM sales""",
    "ranks": """SELECT id, rank() OVER (PARTITION BY product ORDER BY quantity) AS r,
        dense_rank() OVER (PARTITION BY product ORDER BY amount DESC) AS d FROM sales""",
    "neighbours": """SELECT id, lag(quantity) OVER (PARTITION BY customer ORDER BY id) AS before,
        lead(amount, 2, 0) OVER (PARTITION BY customer ORDER BY day, id) AS after FROM sales""",
    "a running sum": """SELECT id, sum(quantity) OVER (PARTITION BY customer ORDER BY id
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total FROM sales""",
    "a moving sum": """SELECT id, sum(amount) OVER (PARTITION BY product ORDER BY day, id
        ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS total FROM sales""",
    "a running sum with peers": """SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY day) AS
        total
        FROM sales""",
    "edges of a frame": """SELECT id, first_value(day) OVER (PARTITION BY customer ORDER BY id) AS first,
        last_value(note) OVER (PARTITION BY customer ORDER BY id
        ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS last FROM sales""",
    "the rest of a partition": """SELECT id, min(quantity) OVER (PARTITION BY product ORDER BY id
        ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS least FROM sales""",
    "a whole partition": """SELECT customer, region, count(*) OVER (PARTITION BY region) AS n,
        max(since) OVER (PARTITION BY region) AS last FROM customers""",
    "two partitions": """SELECT id, count(*) OVER (PARTITION BY customer) AS of_customer,
        sum(quantity) OVER (PARTITION BY product, customer) AS of_both FROM sales""",
    "a partition by an expression": """SELECT id, row_number() OVER (PARTITION BY quantity % 2 ORDER BY
        id) AS place
        FROM sales""",
    "QUALIFY": """SELECT id, customer, day FROM sales
        QUALIFY row_number() OVER (PARTITION BY customer ORDER BY day DESC, id) = 1""",
    "QUALIFY over a filter": """SELECT id, product FROM sales WHERE quantity > 0
        QUALIFY rank() OVER (PARTITION BY product ORDER BY amount) <= 2""",
    "a window over a group": """SELECT customer, product, sum(quantity) AS s,
        rank() OVER (PARTITION BY customer ORDER BY sum(quantity) DESC) AS r FROM sales
        GROUP BY customer, product""",
    "a window over a join": """SELECT s.id, c.region, sum(s.quantity) OVER (PARTITION BY c.region ORDER
        BY s.id) AS total
        FROM sales s JOIN customers c ON s.customer = c.customer AND c.active""",
    "a window over a left join": """SELECT s.id, p.category, count(p.price) OVER (PARTITION BY
        p.category) AS n
        FROM sales s LEFT JOIN products p ON s.product = p.product""",
    "a window over a window": """SELECT id, place, sum(place) OVER (PARTITION BY product) AS s FROM
        (SELECT id, product, row_number() OVER (PARTITION BY customer ORDER BY id) AS place FROM sales)""",
    "a filter above a window": """SELECT id, before FROM
        (SELECT id, customer, lag(day) OVER (PARTITION BY customer ORDER BY day, id) AS before
        FROM sales) WHERE before IS NOT NULL""",
    "a group above a window": """SELECT place, count(*) AS n, max(quantity) AS most FROM
        (SELECT quantity, row_number() OVER (PARTITION BY customer ORDER BY id) AS place FROM sales)
        GROUP BY place""",
    "a join with a window": """SELECT c.region, s.id FROM customers c JOIN (SELECT id, customer
        FROM sales
                QUALIFY row_number() OVER (PARTITION BY customer ORDER BY id DESC) = 1) s ON c.customer =
        s.customer""",
}

FLATTENED: Mapping[str, str] = {
    "FLATTEN of a list": """SELECT customer, f.index AS place, f.value::text AS tag FROM visits,
        LATERAL FLATTEN(input => tags) f""",
    "FLATTEN with OUTER": """SELECT customer, f.index AS place, f.value::text AS tag FROM visits,
        LATERAL FLATTEN(input => tags, outer => TRUE) f""",
    "FLATTEN of an object": "SELECT seconds, f.key AS name FROM visits, LATERAL FLATTEN(input => page) f",
    "FLATTEN of a member": """SELECT seconds, f.value::integer AS mark FROM visits,
        LATERAL FLATTEN(input => page:marks) f WHERE f.value::integer > 0""",
    "a group above FLATTEN": """SELECT f.value::text AS tag, count(*) AS n, count(DISTINCT customer) AS
        customers
        FROM visits, LATERAL FLATTEN(input => tags) f GROUP BY f.value::text""",
    "DISTINCT above FLATTEN": """SELECT DISTINCT f.value::text AS tag FROM visits,
        LATERAL FLATTEN(input => tags) f""",
    "a join above FLATTEN": """SELECT c.region, f.value::text AS tag FROM visits v
        JOIN customers c ON v.customer = c.customer, LATERAL FLATTEN(input => v.tags) f""",
    "a window above FLATTEN": """SELECT customer, tag, count(*) OVER (PARTITION BY tag) AS n FROM
        (SELECT customer, f.value::text AS tag FROM visits, LATERAL FLATTEN(input => tags) f)""",
    "FLATTEN twice": """SELECT f.value::text AS tag, g.value::integer AS mark FROM visits,
        LATERAL FLATTEN(input => tags) f, LATERAL FLATTEN(input => page:marks) g""",
}

NESTED: Mapping[str, str] = {
    "WITH": """WITH totals AS (SELECT customer, sum(amount) AS total FROM sales
        GROUP BY customer), active AS (SELECT customer, region FROM customers
        WHERE active) SELECT a.region, t.total FROM active a JOIN totals t ON a.customer = t.customer""",
    "a name of WITH that is read twice": """WITH many AS (SELECT id, customer, quantity FROM sales
        WHERE quantity > 1) SELECT a.id AS first, b.id AS second FROM many a
        JOIN many b ON a.customer = b.customer AND a.id < b.id""",
    "a filter of a filter": """SELECT id, twice FROM (SELECT id, quantity * 2 AS twice FROM sales
        WHERE quantity IS NOT NULL) WHERE twice > 2""",
    "parts of a whole": """WITH t AS (SELECT product, sum(quantity) AS total FROM sales
        GROUP BY product) SELECT s.id, s.quantity, t.total FROM sales s JOIN t ON s.product = t.product
        WHERE s.quantity < t.total""",
    "DISTINCT below a group": """SELECT region, count(*) AS n FROM (SELECT DISTINCT region, since
        FROM customers) GROUP BY region""",
    "a group of a union of joins": """SELECT region, sum(n) AS n FROM ( SELECT c.region, s.quantity AS n
        FROM sales s JOIN customers c ON s.customer = c.customer UNION ALL SELECT c.region, v.seconds
        FROM visits v JOIN customers c ON v.customer = c.customer) GROUP BY region""",
    "a group, a join and a window": """WITH t AS (SELECT customer, product, sum(quantity) AS s FROM sales
        GROUP BY customer, product) SELECT c.region, t.product, t.s,
        rank() OVER (PARTITION BY c.region ORDER BY t.s DESC) AS place FROM t
        LEFT JOIN customers c ON t.customer = c.customer""",
    "rows of the newest day": """SELECT s.id, s.day FROM sales s JOIN (SELECT customer, max(day) AS day
        FROM sales GROUP BY customer) m ON s.customer = m.customer AND s.day = m.day""",
}

WITH_CONSTANTS: Mapping[str, str] = {
    "a join with VALUES": """SELECT s.id, v.label FROM sales s
        JOIN (VALUES (1, 'one'), (2, 'two'), (NULL, 'none')) AS v (k, label) ON s.customer = v.k""",
    "a left join with VALUES": """SELECT s.id, v.label FROM sales s
        LEFT JOIN (VALUES (1, 'one'), (1, 'uno'), (7, 'seven')) AS v (k, label)
        ON s.customer = v.k AND s.quantity > 0""",
    "a full join with VALUES": """SELECT c.region, v.k, v.limit_of FROM customers c
        FULL JOIN (VALUES (1, 2.5), (5, NULL)) AS v (k, limit_of) ON c.customer = v.k""",
    "a window above a join with VALUES": """SELECT s.id, count(*) OVER (PARTITION BY v.label) AS n
        FROM sales s JOIN (VALUES (1, 'one'), (2, 'two')) AS v (k, label) ON s.customer = v.k""",
    "days with and without sales": """SELECT v.day, count(s.id) AS n, sum(s.amount) AS total FROM
        (VALUES ('2025-01-01'::date), ('2025-01-02'::date), ('2025-02-28'::date)) AS v (day)
        LEFT JOIN sales s ON v.day = s.day GROUP BY v.day""",
    "all pairs with VALUES": """SELECT p.category, v.n FROM products p JOIN (VALUES (1), (2)) AS v (n)
        ON p.price > v.n""",
    "a union with VALUES": """SELECT category AS name, count(*) AS n FROM (SELECT category FROM products
        UNION ALL SELECT k FROM (VALUES ('tea'), ('cup')) AS v (k)) GROUP BY category""",
}

WIDER: Mapping[str, str] = {
    "grouping sets": """SELECT customer, product, count(*) AS n, sum(quantity) AS s FROM sales
        GROUP BY GROUPING SETS ((customer, product), (customer))""",
    "a median": "SELECT customer, median(quantity) AS middle FROM sales GROUP BY customer",
    "parts of a date": """SELECT quarter(day) AS q, extract(year FROM day) AS y, max(amount) AS most
        FROM sales GROUP BY quarter(day), extract(year FROM day)""",
    "a range of values": """SELECT id, sum(quantity) OVER (PARTITION BY customer ORDER BY quantity
        RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS near FROM sales""",
    "a named window": """SELECT product, price, rank() OVER w AS place, max(price) OVER w AS most
        FROM products WINDOW w AS (PARTITION BY category ORDER BY price)""",
    "texts in one": """SELECT region, listagg(active::text, ',') WITHIN GROUP (ORDER BY active::text) AS list
        FROM customers GROUP BY region""",
    "any of a group": """SELECT region, boolor_agg(active) AS some, booland_agg(active) AS each_of
        FROM customers GROUP BY region""",
}

DEFINITIONS: Mapping[str, str] = {
    **EXPRESSIONS,
    **JOINS,
    **AGGREGATES,
    **DISTINCTS_AND_UNIONS,
    **WINDOWS,
    **FLATTENED,
    **NESTED,
    **WITH_CONSTANTS,
    **WIDER,
}
