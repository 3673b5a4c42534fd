"""Makes tables and asks them; used by the scripts beside it."""
import tempfile
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
root = tempfile.mkdtemp()
def make(name, blocks, **options):
    for block in blocks:
        write_deltalake(f"{root}/{name}", block, mode="append", **options)
    return DeltaTable(f"{root}/{name}")
def ask(sql, **tables):
    query = QueryBuilder()
    for name, table in tables.items():
        query.register(name, table)
    return told(lambda: [tuple(row.values()) for row in pa.table(query.execute(sql)).to_pylist()])
def told(answer):
    """What is answered, or the error, which here is the finding."""
    try:
        return answer()
    except Exception as error:  # the binding raises bare `Exception` of what the engine finds wrong
        return type(error).__name__ + " " + str(error).splitlines()[0][:150]
def deleted(table, where, column):
    """What a DELETE leaves of a column, or its error."""
    def answer():
        table.delete(where)
        return sorted(table.to_pyarrow_table()[column].to_pylist())
    return told(answer)
