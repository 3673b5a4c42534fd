"""The number of test workers that a machine gets."""

import pytest
from machine import fitting_workers, worker_count

GIB = 2**30


@pytest.mark.parametrize(
    ("cores", "memory_gib", "workers"),
    [(1, 1, 1), (2, 23, 2), (64, 8, 3), (8, 4.9, 1), (8, 5, 2), (4, 10, 4)],
)
def test_workers_fit_into_cores_and_memory(cores: int, memory_gib: float, workers: int) -> None:
    assert fitting_workers(cores=cores, memory_bytes=int(memory_gib * GIB)) == workers


def test_the_number_asked_for_is_obeyed_and_nonsense_is_not() -> None:
    assert worker_count({"PYTEST_XDIST_AUTO_NUM_WORKERS": "7"}) == 7
    assert worker_count({"PYTEST_XDIST_AUTO_NUM_WORKERS": "many"}) == worker_count({}) >= 1
