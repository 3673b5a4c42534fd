"""A corpus keeps the questions that show something new, and later hunts ask them first."""

import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mutants.small_engine.catalogue import MUTANTS
from mutants.stand.novelties import BlindToDecisions
from skipproof.stand.adapters.on_datafusion import OnDataFusion
from skipproof.stand.adapters.on_duckdb import OnDuckDB
from skipproof.stand.hunt.corpus import Corpus, UnreadableCorpus, questions_per_work
from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.hunting import Limits, capabilities, hunt
from skipproof.stand.hunt.novelty import Novelty
from skipproof.stand.hunt.rounds import Rounds
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.engines import find_engine
from skipproof.stand.workers.workers import Worker
from strategies.engines.questions import Call, Column, Literal, Question, Relation
from strategies.engines.world_json import world_from_text, world_text

LIMITS = Limits(examples=60, worlds_to_shrink=0)
A_IS_ONE = Question(
    area="filter",
    source=Relation(table="t", where=Call("=", (Column("a", "int64"), Literal(1, "int64")))),
    select=("rid",),
)


class Recorded(SmallEngine):
    """An engine whose questions over the pruned form are recorded."""

    def __init__(self):
        super().__init__()
        self.questions = []

    def ask(self, **request):
        """Answer a request."""
        if request.get("features"):
            self.questions += [json.dumps(question) for question in request["questions"]]
        return super().ask(**request)


def hunt_with(engine, directory, limits=LIMITS):
    able = capabilities(engine, areas=("filter", "topk"))
    return hunt(engine, able, limits, hunt_seed=4, corpus=Corpus(directory))


def kept_texts(directory):
    return {path.name: path.read_text() for path in (directory / "worlds").glob("*.json")}


@pytest.fixture(scope="module")
def corpus_folder(tmp_path_factory):
    directory = tmp_path_factory.mktemp("corpus")
    hunt_with(SmallEngine(), directory)
    return directory


def result_with(*features):
    return QuestionResult(
        question=A_IS_ONE, with_statistics={"rows": [[0]]}, without={"rows": [[0]]}, features=features
    )


def test_worlds_are_the_same_after_they_were_text():
    worlds = []
    Rounds(capabilities(SmallEngine()), 3).draw(worlds.append)
    assert [world_from_text(world_text(world)) for world in worlds] == worlds


@pytest.mark.parametrize(("novelty", "is_kept"), [(Novelty, True), (BlindToDecisions, False)])
def test_a_question_with_a_new_decision_is_kept(novelty, is_kept):
    """The mutant looks at the question and its rows alone."""
    rule = novelty()
    assert rule.is_new(result_with("row groups"))
    assert not rule.is_new(result_with("row groups"))
    assert rule.is_new(result_with("row groups", "pages")) is is_kept
    assert not rule.is_new(result_with("row groups", "pages"))
    assert not rule.is_new(replace(result_with("filters"), refused="no such function"))


def test_only_the_new_questions_of_a_world_are_kept(tmp_path):
    (world, *_) = Corpus.worlds(*_corpus_and_able(tmp_path))
    corpus = Corpus(tmp_path / "other")
    twice = replace(world, questions=(A_IS_ONE, A_IS_ONE))
    corpus.add(twice, [result_with("pages"), result_with("pages")])
    (text,) = kept_texts(tmp_path / "other").values()
    assert world_from_text(text) == replace(world, questions=(A_IS_ONE,))


def _corpus_and_able(directory):
    engine = SmallEngine()
    hunt_with(engine, directory, replace(LIMITS, examples=1))
    return Corpus(directory), capabilities(engine)


def test_a_later_hunt_asks_the_kept_questions_first_and_goes_on_with_other_rounds(corpus_folder, tmp_path):
    shutil.copytree(corpus_folder, tmp_path, dirs_exist_ok=True)
    worlds = [world_from_text(text) for _, text in sorted(kept_texts(corpus_folder).items())]
    worlds.sort(key=questions_per_work, reverse=True)
    before = [json.dumps(question.json()) for world in worlds for question in world.questions]
    engine = Recorded()
    hunt_with(engine, tmp_path, replace(LIMITS, examples=len(before) + 40))
    assert engine.questions[: len(before)] == before
    first, second = (json.loads((folder / "rounds.json").read_text()) for folder in (corpus_folder, tmp_path))
    assert first["4"] < second["4"]
    alone = Recorded()
    hunt_with(alone, tmp_path / "none", replace(LIMITS, examples=40))
    assert not set(alone.questions[:20]) & set(engine.questions[len(before) :])


def test_two_hunts_of_one_seed_and_one_corpus_are_the_same(corpus_folder, tmp_path):
    for name in ("x", "y"):
        shutil.copytree(corpus_folder, tmp_path / name)
        hunt_with(SmallEngine(), tmp_path / name, replace(LIMITS, examples=110))
    assert kept_texts(tmp_path / "x") == kept_texts(tmp_path / "y")
    assert kept_texts(corpus_folder).items() < kept_texts(tmp_path / "x").items()


def test_a_finding_among_the_kept_questions_needs_no_corpus(corpus_folder, tmp_path):
    wrong = next(mutant for mutant in MUTANTS if mutant.name == "unstated is null").engine()
    shutil.copytree(corpus_folder, tmp_path / "copy")
    state = hunt_with(wrong, tmp_path / "copy", Limits(examples=200, findings=1, worlds_to_shrink=20))
    shutil.rmtree(tmp_path / "copy")
    (finding,) = state.findings
    (outcome,) = examine(wrong, finding.world)
    assert outcome.contradiction == finding.outcome.contradiction


def test_questions_that_an_engine_does_not_have_stay_in_the_corpus_unasked(corpus_folder):
    every = list(Corpus(corpus_folder).worlds(capabilities(SmallEngine())))
    able = capabilities(SmallEngine(), areas=("topk",))
    without_switches = replace(able, settings={})
    assert {question.area for world in every for question in world.questions} == {"filter", "topk"}
    assert {
        question.area for world in Corpus(corpus_folder).worlds(able) for question in world.questions
    } == {"topk"}
    assert any(world.settings for world in every)
    assert not any(world.settings for world in Corpus(corpus_folder).worlds(without_switches))


@pytest.mark.parametrize("name", ["worlds/0.json", "rounds.json"])
def test_a_corpus_that_cannot_be_read_is_refused_with_the_file(name, tmp_path):
    Corpus(tmp_path)
    for text in ("no JSON", "[]", '{"$class": "Column"}'):
        (tmp_path / name).write_text(text)
        with pytest.raises(UnreadableCorpus, match=name):
            hunt_with(SmallEngine(), tmp_path)


def features_of(adapter, table, values):
    """The features of `a = value` for each value."""
    names = {}
    exec(adapter.start(), names)
    text, more = adapter.setup({"t": table}, {})
    names |= more
    exec(text, names)
    for value in values:
        where = Call("=", (Column("a", "int64"), Literal(value, "int64")))
        question = replace(A_IS_ONE, source=Relation(table="t", where=where))
        yield set(adapter.features(question.json(), names))


@pytest.fixture
def stored_table(tmp_path):
    """A table of two row groups."""
    rows = pa.table({"a": pa.array([1, 2, 30, 31], pa.int64()), "rid": pa.array(range(4), pa.int64())})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=2)
    columns = [{"name": "a", "type": "int64"}, {"name": "rid", "type": "int64"}]
    return {"columns": columns, "files": [str(tmp_path / "t.parquet")]}


def test_the_plans_of_duckdb_are_features_without_their_constants(stored_table):
    first, other = features_of(OnDuckDB(), stored_table, (1, 2))
    assert first == other
    assert any("Filters: " in feature and "?" in feature for feature in first)


def test_the_pruning_of_datafusion_is_a_feature_without_its_counts(stored_table):
    first, other, nowhere = features_of(OnDataFusion(), stored_table, (1, 31, 100))
    assert first == other
    assert any("pruned" in feature for feature in first)
    assert nowhere != first


def test_the_plan_of_a_field_of_a_struct_is_that_of_its_path(tmp_path):
    """The table has no other column of that name, so that DuckDB has no plan for the column alone."""
    structs = pa.array([{"a": 1}, {"a": 2}], pa.struct([("a", pa.int64())]))
    pq.write_table(pa.table({"s": structs, "rid": pa.array(range(2), pa.int64())}), tmp_path / "t.parquet")
    columns = [{"name": "a", "type": "int64", "path": ["s", "a"]}, {"name": "rid", "type": "int64"}]
    tables = {"t": {"columns": columns, "files": [str(tmp_path / "t.parquet")]}}
    with Worker(find_engine("duckdb", python=None).command) as worker:
        reply = worker.ask(tables=tables, settings={}, questions=[A_IS_ONE.json()], features=True)
    (answer,) = reply["answers"]
    assert any("Filters: " in feature for feature in answer["features"])


def test_worlds_of_many_rows_are_asked_after_those_of_few(corpus_folder):
    """Their questions take ten times as long."""
    (world, *_) = Corpus(corpus_folder).worlds(capabilities(SmallEngine()))
    (name, table), *others = world.tables.items()
    large = replace(table, blocks=(table.blocks[0] * 2_000,))
    assert questions_per_work(replace(world, tables={name: large, **dict(others)})) < questions_per_work(
        world
    )
    fewer = replace(world, questions=world.questions[:1])
    assert questions_per_work(fewer) < questions_per_work(world)
