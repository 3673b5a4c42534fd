"""Delete files and the data files that they may concern."""

from typing import Any

import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

from mutants.metadata.iceberg_commits import CONCERN_MUTANTS
from pruning.metadata.iceberg.commits import conflicts
from pruning.metadata.iceberg.commits.position_files import PATH_ID

PATH = "file:///t/data/ü/b.parquet"
SHORT = "file:///t/data/ü"


def _file(content: Any, *partition: str, spec: int = 0, bounds: tuple[str, str] | None = None) -> Any:
    lower, upper = ({}, {}) if bounds is None else ({PATH_ID: bound.encode()} for bound in bounds)
    file = DataFile.from_args(
        content=content,
        file_path=PATH,
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        record_count=1,
        file_size_in_bytes=1,
        lower_bounds=lower,
        upper_bounds=upper,
    )
    file.spec_id = spec
    return file


POSITIONS, EQUALITY = DataFileContent.POSITION_DELETES, DataFileContent.EQUALITY_DELETES
DATA = _file(DataFileContent.DATA, "a")
#          the delete file                                         concerns  only
CASES = [
    (_file(POSITIONS, "a"),                                         True,    False),  # without bounds
    (_file(POSITIONS, "b"),                                         False,   False),  # in another partition
    (_file(POSITIONS, "a", spec=1),                                 False,   False),  # of another spec
    (_file(POSITIONS, "a", bounds=(PATH, PATH)),                    True,    True),   # of this file alone
    (_file(POSITIONS, "b", bounds=(PATH, PATH)),                    True,    True),   # by its name, wherever
    (_file(POSITIONS, "a", bounds=(SHORT, SHORT[:-1] + "ý")),       True,    False),  # with shortened bounds
    (_file(POSITIONS, "b", bounds=(SHORT, SHORT[:-1] + "ý")),       False,   False),
    (_file(POSITIONS, "a", bounds=(PATH, PATH + "x")),              True,    False),  # of the first of two
    (_file(POSITIONS, "a", bounds=(PATH + "x", PATH + "x")),        False,   False),  # of the next file
    (_file(POSITIONS, "a", bounds=(SHORT, SHORT)),                  False,   False),  # of a file called so
    (_file(EQUALITY, "a"),                                          True,    False),
    (_file(EQUALITY, "b"),                                          False,   False),
    (_file(EQUALITY, spec=1),                                       True,    False),  # of all partitions
    (_file(EQUALITY, "a", bounds=(PATH, PATH)),                     True,    False),  # whatever its bounds
]  # fmt: skip


def _answers() -> list[tuple[bool, bool]]:
    paths = frozenset([PATH])
    return [(conflicts.may_concern(file, DATA), conflicts.names_only(file, paths)) for file, _, _ in CASES]


def test_a_delete_file_concerns_what_its_bounds_and_partition_allow() -> None:
    assert _answers() == [(concerns, only) for _, concerns, only in CASES]


@pytest.mark.parametrize("name", CONCERN_MUTANTS)
def test_mutants_take_other_files_for_concerned(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*CONCERN_MUTANTS[name])
    assert _answers() != [(concerns, only) for _, concerns, only in CASES]
