"""The beliefs about many footers at once are those of a plain reference about each chunk by itself."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from belief_comparison import ExpectedFile, check_shards, expected_file
from generated_footers import KINDS, WRITERS, GeneratedFooter, generated_footers
from needs import CORPUS, needs_corpus
from reference_beliefs import MAX_VALUE, NULL_COUNT, SchemaColumn

from mutants.beliefs import GUESSING_MUTANTS, MUTANTS, REASONS_ONLY
from oracles.files.footers import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    InChunk,
    InElement,
    InFile,
    InGroup,
    InMeta,
    Struct,
    chunks_of,
    encode_struct,
    meta_of,
    split_file,
    struct_list,
)
from pruning.errors import InputError
from pruning.metadata.footers.footer import parse_footer, read_footer
from pruning.metadata.footers.footer_batches import read_batch
from pruning.metadata.footers.frames import FrameParser
from pruning.metadata.footers.trust import DOUBTS
from pruning.metadata.table import reading
from pruning.metadata.table.blocks import shards
from pruning.metadata.table.reading import shards_of_footers

SEED = "columnar beliefs"
FOOTERS, FOOTERS_DEEP, FOOTERS_AT_ONCE, FOOTERS_OF_A_MUTANT = 450, 100_000, 500, 100
DAMAGED_FOOTERS = 300


@pytest.fixture(scope="module")
def footers() -> list[GeneratedFooter]:
    """Footers of the default run."""
    return list(generated_footers(SEED, FOOTERS))


@pytest.fixture(scope="module")
def expected(footers: list[GeneratedFooter]) -> dict[str, ExpectedFile]:
    """Their block metadata by the reference."""
    return _expected_files(footers)


def _expected_files(footers: Iterable[GeneratedFooter]) -> dict[str, ExpectedFile]:
    return {str(place): expected_file(footer.struct, footer.columns) for place, footer in enumerate(footers)}


def _check(footers: Iterable[GeneratedFooter], expected: dict[str, ExpectedFile]) -> None:
    """Compare the footers, read at once."""
    result = shards_of_footers((str(place), footer.raw) for place, footer in enumerate(footers))
    assert not result.failures
    check_shards(result.shards, expected)


def _check_in_parts(footers: Sequence[GeneratedFooter], expected: dict[str, ExpectedFile]) -> None:
    """Compare a part of the footers after the other; most mutants fail in the first."""
    for start in range(0, len(footers), FOOTERS_OF_A_MUTANT):
        part = footers[start : start + FOOTERS_OF_A_MUTANT]
        _check(part, {str(place): expected[str(start + place)] for place in range(len(part))})


def _batches(footers: Iterator[GeneratedFooter]) -> Iterator[list[GeneratedFooter]]:
    while batch := list(islice(footers, FOOTERS_AT_ONCE)):
        yield batch


def test_beliefs_agree_with_the_reference(
    footers: list[GeneratedFooter], expected: dict[str, ExpectedFile]
) -> None:
    """PROP-14. Every lane of every column, and all locators."""
    _check(footers, expected)


@pytest.mark.deep
def test_beliefs_agree_with_the_reference_over_many_footers() -> None:
    """PROP-14. The same over more footers."""
    for batch in _batches(generated_footers(f"{SEED}, many", FOOTERS_DEEP)):
        _check(batch, _expected_files(batch))


def test_footers_read_alone_give_the_same_beliefs(
    footers: list[GeneratedFooter], expected: dict[str, ExpectedFile]
) -> None:
    """The other way into block metadata, for footers of other forms and for single files."""
    parsed = [(str(place), parse_footer("", footer.raw)) for place, footer in enumerate(footers[::5])]
    wanted = {str(place): expected[str(5 * place)] for place in range(len(parsed))}
    check_shards(shards(parsed), wanted)


def test_small_batches_give_the_same_beliefs(
    footers: list[GeneratedFooter], expected: dict[str, ExpectedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of one shard that are in several batches."""
    monkeypatch.setattr(reading, "_BATCH_BYTES", 5_000)
    few = footers[:FOOTERS_OF_A_MUTANT]
    _check(few, {str(place): expected[str(place)] for place in range(len(few))})


def test_frames_that_were_forgotten_are_parsed_again(
    footers: list[GeneratedFooter], expected: dict[str, ExpectedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lake may have more frames than are remembered."""
    parsers: list[FrameParser] = []

    def make_parser() -> FrameParser:
        parsers.append(FrameParser())
        return parsers[-1]

    monkeypatch.setattr(reading, "_BATCH_BYTES", 5_000)
    monkeypatch.setattr(reading, "_FRAMES_MAX", 3)
    monkeypatch.setattr(reading, "FrameParser", make_parser)
    few = footers[:FOOTERS_OF_A_MUTANT]
    _check(few, {str(place): expected[str(place)] for place in range(len(few))})
    assert len(parsers) > 1


def test_generated_footers_reach_every_writer_and_type(
    footers: list[GeneratedFooter], expected: dict[str, ExpectedFile]
) -> None:
    """Without this, the comparison could hold because the hard cases never occur."""
    writers = {footer.struct.get(InFile.CREATED_BY, (0, None))[1] for footer in footers}
    assert writers == set(WRITERS)
    names = {column.name for footer in footers for column in footer.columns}
    assert all(any(kind in name for name in names) for kind in KINDS)
    bounds = [lane[3] for file in expected.values() for facts in file.facts.values() for lane in facts]
    assert 0.2 < sum(bound is not None for bound in bounds) / len(bounds) < 0.8


def test_most_footers_are_read_at_once(footers: list[GeneratedFooter]) -> None:
    """Only those without row groups, or of a form that writers do not use, are read alone."""
    _, alone = read_batch([(str(place), footer.raw) for place, footer in enumerate(footers)], FrameParser())
    with_blocks = [footer for footer in footers if struct_list(footer.struct, InFile.ROW_GROUPS)]
    assert len(footers) - len(alone) > 0.8 * len(with_blocks)


def _damaged_footers(footers: Sequence[GeneratedFooter], random: Random) -> Iterator[bytes]:
    """Yield footers with a few bytes replaced, inserted or cut."""
    for _ in range(DAMAGED_FOOTERS):
        raw = bytearray(random.choice(footers).raw)
        for _ in range(random.choice((1, 1, 2, 5))):
            place = random.randrange(len(raw))
            match random.randrange(4):
                case 0:
                    raw[place] = random.randrange(256)
                case 1:
                    raw[place:place] = random.randbytes(random.randrange(1, 4))
                case 2:
                    del raw[place : place + random.randrange(1, 4)]
                case 3:
                    raw[place] ^= 1 << random.randrange(8)
            if not raw:
                break
        yield bytes(raw)


def test_damaged_footers_have_the_same_outcome_among_others(footers: list[GeneratedFooter]) -> None:
    """Each gives the blocks, or the sentence, that it gives when it is read alone."""
    damaged = [(str(place), raw) for place, raw in enumerate(_damaged_footers(footers, Random(SEED)))]
    parsed, failures = [], {}
    for file, raw in damaged:
        try:
            parsed.append((file, parse_footer(file, raw)))
        except InputError as error:
            failures[file] = str(error)
    result = shards_of_footers(damaged)
    assert result.failures == failures
    assert 0.2 < len(failures) / len(damaged) < 0.95
    alone = {part.files: part.table for part in shards(parsed)}
    assert {part.files for part in result.shards} == alone.keys()
    for part in result.shards:
        table = alone[part.files]
        assert part.table.equals(table)
        assert part.table.schema.equals(table.schema, check_metadata=True)


def _meta(path: bytes, greatest: bytes) -> Struct:
    """The metadata of a chunk of three byte strings."""
    return {
        InMeta.TYPE: (I32, 6),
        2: (LIST, (I32, [0])),
        InMeta.PATH: (LIST, (BINARY, [path])),
        InMeta.VALUES: (I64, 3),
        InMeta.COMPRESSED: (I64, 99),
        InMeta.DATA_PAGE: (I64, 4),
        InMeta.STATISTICS: (STRUCT, {NULL_COUNT: (I64, 0), MAX_VALUE: (BINARY, greatest)}),
    }


def _footer_with_a_footer_in_a_value(names: tuple[bytes, ...], groups: tuple[tuple[int, ...], ...]) -> Struct:
    """A footer whose first bound holds a chunk of the last column and the end of a footer, and whose last
    chunk does not begin as chunks do.

    Args:
        groups: The places of the columns of each row group.
    """
    orders: Struct = {InFile.COLUMN_ORDERS: (LIST, (STRUCT, [{1: (STRUCT, {})} for _ in names]))}
    # Of the row group: three rows. Of the footer: the orders of columns, after the row groups.
    ends = encode_struct({3 - 1: (I64, 3)}), encode_struct({7 - 4: orders[InFile.COLUMN_ORDERS]})
    inner: Struct = {InChunk.FILE_OFFSET: (I64, 4), InChunk.META: (STRUCT, _meta(names[-1], b"false"))}
    value = encode_struct(inner) + b"".join(ends)
    chunks = [
        [
            {InChunk.FILE_OFFSET: (I64, 4), InChunk.META: (STRUCT, _meta(names[place], value))}
            for place in group
        ]
        for group in groups
    ]
    del chunks[-1][-1][InChunk.FILE_OFFSET]
    chunks[-1][-1][InChunk.META] = (STRUCT, _meta(names[-1], b"true"))
    leaves = [
        {InElement.TYPE: (I32, 6), InElement.REPETITION: (I32, 1), InElement.NAME: (BINARY, name)}
        for name in names
    ]
    root: Struct = {InElement.NAME: (BINARY, b"root"), InElement.CHILDREN: (I32, len(names))}
    rows: Struct = {InGroup.ROWS: (I64, 3)}
    return orders | {
        1: (I32, 2),
        InFile.SCHEMA: (LIST, (STRUCT, [root, *leaves])),
        InFile.ROWS: (I64, 3 * len(groups)),
        InFile.ROW_GROUPS: (
            LIST,
            (STRUCT, [rows | {InGroup.CHUNKS: (LIST, (STRUCT, group))} for group in chunks]),
        ),
    }


def _check_values_like_footers() -> None:
    """Compare two footers with a value that looks like the rest of a footer."""
    structs = [
        _footer_with_a_footer_in_a_value((b"a", b"b"), ((0, 1),)),
        _footer_with_a_footer_in_a_value((b"a",), ((0,), (0,))),
    ]
    footers = []
    for struct in structs:
        leaves = struct_list(struct, InFile.SCHEMA)[1:]
        columns = tuple(
            SchemaColumn(
                name=leaf[InElement.NAME][1].decode(),
                chunk=chunk,
                element=leaf,
                path=(leaf[InElement.NAME][1],),
                ordered=True,
            )
            for chunk, leaf in enumerate(leaves)
        )
        footers.append(GeneratedFooter(columns, struct, encode_struct(struct)))
    _check(footers, _expected_files(footers))


@pytest.mark.parametrize("kind", [0, 13, 14, 15])
def test_a_list_of_a_kind_that_does_not_exist_is_refused_though_empty(kind: int) -> None:
    """Skipping it would need no kind, but then a damaged footer would be believed."""
    footer = _footer_with_a_footer_in_a_value((b"a",), ((0,),))
    (chunk,) = chunks_of(footer)[0]
    meta_of(chunk)[InMeta.DATA_PAGE + 1] = (LIST, (kind, []))
    chunk[InChunk.FILE_OFFSET] = (I64, 4)
    result = shards_of_footers([("x", encode_struct(footer))])
    assert not result.shards
    assert "is damaged" in result.failures["x"]


def test_a_value_that_looks_like_the_rest_of_a_footer_is_only_a_value() -> None:
    """The places of chunks are guessed, and such a value makes the guess wrong."""
    _check_values_like_footers()


@pytest.mark.parametrize("name", GUESSING_MUTANTS)
def test_a_guess_without_a_proof_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check, the value is taken for the rest of the footer."""
    monkeypatch.setattr(*GUESSING_MUTANTS[name])
    with pytest.raises(AssertionError):
        _check_values_like_footers()


def test_the_comparison_covers_each_doubt() -> None:
    """Each doubt has a mutant without it."""
    left_out = {name.removeprefix("without ") for name in MUTANTS}
    assert {doubt.name for doubt in DOUBTS} - REASONS_ONLY <= left_out


@pytest.mark.parametrize("name", MUTANTS)
def test_the_comparison_kills_mutants(
    name: str,
    footers: list[GeneratedFooter],
    expected: dict[str, ExpectedFile],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A belief that is wrong in one way differs from the reference somewhere."""
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError):
        _check_in_parts(footers, expected)


@needs_corpus
@pytest.mark.parametrize("path", sorted(CORPUS.rglob("*.par*")), ids=lambda path: path.name)
def test_beliefs_of_foreign_files_agree_with_the_reference(path: Path) -> None:
    """PROP-14. Files of other writers, one by one."""
    _, struct = split_file(path.read_bytes())
    elements = [element for element in struct_list(struct, InFile.SCHEMA)[1:] if InElement.TYPE in element]
    columns = [
        SchemaColumn(
            name=leaf.name,
            chunk=leaf.chunk,
            element=elements[leaf.chunk],
            path=leaf.path,
            ordered=leaf.ordered,
            required=leaf.required,
            inherits=leaf.inherits,
            repeated=leaf.is_repeated,
        )
        for leaf in read_footer(str(path)).leaves
    ]
    result = reading.read_footers([str(path)])
    assert not result.failures
    check_shards(result.shards, {str(path): expected_file(struct, columns)})
