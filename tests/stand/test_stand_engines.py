"""Every engine of the package answers some questions; `tox -e stand` asks each of them far more."""

import pytest
from needs import needs_package

from skipproof.stand.hunt.findings import Blame, confirm
from skipproof.stand.hunt.hunting import Limits, capabilities, hunt
from strategies.engines.files import write_stored

# The least share of questions that each answers; Iceberg's conditions are of columns and literals alone.
ENGINES = {
    "arrow": ("pyarrow", 0.9),
    "chdb": ("chdb", 0.8),
    "chdb-tables": ("chdb", 0.8),
    "daft": ("daft", 0.5),
    "datafusion": ("datafusion", 0.7),
    "deltalake": ("deltalake", 0.5),
    "duckdb": ("duckdb", 0.9),
    "iceberg": ("pyiceberg", 0.3),
    "polars": ("polars", 0.9),
    "skipproof": ("pyspark", 0.7),
    "spark": ("pyspark", 0.7),
}
MARKS = dict.fromkeys(("skipproof", "spark"), (pytest.mark.spark, pytest.mark.deep))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=MARKS.get(name, ())) for name in ENGINES],
)
def test_an_engine_is_asked_two_dozen_questions(name, engine_worker):
    """A finding, if there is one, is found again when the question is asked again."""
    package, share = ENGINES[name]
    needs_package(package)
    worker = engine_worker(name)
    state = hunt(worker, capabilities(worker), Limits(examples=24, findings=1, seconds_to_shrink=5.0))
    blames = [confirm(worker, finding, write=write_stored).blame for finding in state.findings]
    assert state.examples >= 24 or state.findings
    assert state.examples >= share * (state.examples + sum(state.refused.values()))
    assert Blame.UNSTEADY not in blames
