"""A corpus keeps the questions that show something new, and later hunts ask them first."""

import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mutants.small_engine.catalogue import MUTANTS
from mutants.stand.novelties import BlindToDecisions, as_kept, most_features_of_all
from oracles.answers.contradictions import without_limit
from skipproof.stand.adapters.on_chdb import plan_features
from skipproof.stand.adapters.on_datafusion import OnDataFusion
from skipproof.stand.adapters.on_duckdb import OnDuckDB
from skipproof.stand.adapters.on_polars import OnPolars
from skipproof.stand.hunt.corpus import Corpus, KeptWorld, UnreadableCorpus, most_features_first
from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.hunting import WORLDS_PER_EXPLANATION, Limits, capabilities, hunt
from skipproof.stand.hunt.novelty import Novelty, effects_of
from skipproof.stand.hunt.rounds import Rounds
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.engines import find_engine
from skipproof.stand.workers.workers import Worker
from strategies.engines.questions import Call, Column, Literal, Question, Relation
from strategies.engines.world_json import world_from_json, world_json

LIMITS = Limits(examples=200, worlds_to_shrink=0)
A_IS_ONE = Question(
    area="filter",
    source=Relation(table="t", where=Call("=", (Column("a", "int64"), Literal(1, "int64")))),
    select=("rid",),
)


class Recorded(SmallEngine):
    """An engine whose questions over the pruned form are recorded, and how many it explained.

    Of the plain form, which has the rows, they are recorded with their tables.
    """

    def __init__(self):
        super().__init__()
        self.questions = []
        self.questions_of_tables = set()
        self.explained = 0

    def ask(self, **request):
        """Answer a request."""
        if any("files" in table for table in request["tables"].values()):
            self.questions += [json.dumps(question) for question in request["questions"]]
        else:
            tables = json.dumps(request["tables"])
            self.questions_of_tables |= {(tables, json.dumps(question)) for question in request["questions"]}
        if request.get("features"):
            self.explained += len(request["questions"])
        return super().ask(**request)


def hunt_with(engine, directory, limits=LIMITS, *, asked=False):
    able = capabilities(engine, areas=("filter", "topk"))
    return hunt(engine, able, limits, hunt_seed=4, corpus=Corpus(directory, asked=asked))


def kept_texts(directory):
    return {path.name: path.read_text() for path in (directory / "worlds").glob("*.json")}


def kept_worlds(directory):
    """The worlds in the order of the index."""
    index = json.loads((directory / "index.json").read_text())
    texts = kept_texts(directory)
    assert sorted(index["order"]) == sorted(texts)
    return [world_from_json(json.loads(texts[name])["world"]) for name in index["order"]]


def areas_of(some_worlds):
    return {question.area for world in some_worlds for question in world.questions}


def drawn_rounds(directory):
    """The number of rounds of the seed that the hunts have drawn."""
    return json.loads((directory / "index.json").read_text())["rounds"]["4"]


def questions_of(worlds):
    return [json.dumps(question.json()) for world in worlds for question in world.questions]


def questions_of_tables(worlds):
    """The questions of worlds without LIMIT, as they are asked of the plain form, each with its tables."""
    return {
        (json.dumps({name: table.json for name, table in world.tables.items()}), json.dumps(question.json()))
        for world in worlds
        for question in map(without_limit, world.questions)
    }


@pytest.fixture(scope="module")
def corpus_folder(tmp_path_factory):
    directory = tmp_path_factory.mktemp("corpus")
    hunt_with(SmallEngine(), directory)
    return directory


def result_with(*features):
    return QuestionResult(
        question=A_IS_ONE, with_statistics={"rows": [[0]]}, without={"rows": [[0]]}, features=features
    )


def test_worlds_are_the_same_after_they_were_json():
    worlds = []
    Rounds(capabilities(SmallEngine()), 3).draw(worlds.append)
    assert [world_from_json(json.loads(json.dumps(world_json(world)))) for world in worlds] == worlds


@pytest.mark.parametrize(("novelty", "is_new"), [(Novelty, True), (BlindToDecisions, False)])
def test_a_question_with_a_decision_of_its_own_is_new(novelty, is_new):
    """The mutant looks at the question and its rows alone."""
    rule = novelty()
    assert rule.add(A_IS_ONE, effects_of(result_with("row groups")))
    assert not rule.add(A_IS_ONE, effects_of(result_with("row groups")))
    assert rule.add(A_IS_ONE, effects_of(result_with("row groups", "pages"))) is is_new
    assert not rule.add(A_IS_ONE, effects_of(result_with("row groups", "pages")))
    assert not rule.add(A_IS_ONE, effects_of(replace(result_with("filters"), refused="no such function")))


def test_a_world_is_kept_whole_if_one_of_its_questions_is_new(corpus_folder, tmp_path):
    """Writing its files takes as long as asking all of them."""
    world, *_ = kept_worlds(corpus_folder)
    corpus, twice = Corpus(tmp_path), replace(world, questions=(A_IS_ONE, A_IS_ONE))
    corpus.add(twice, [result_with("pages"), result_with("pages")])
    (text,) = kept_texts(tmp_path).values()
    assert world_from_json(json.loads(text)["world"]) == twice
    corpus.add(replace(twice, settings={"other": "x"}), [result_with("pages"), result_with("pages")])
    assert list(kept_texts(tmp_path).values()) == [text]


def test_a_later_hunt_asks_the_kept_questions_first_and_goes_on_with_other_rounds(corpus_folder, tmp_path):
    shutil.copytree(corpus_folder, tmp_path, dirs_exist_ok=True)
    before = questions_of(kept_worlds(corpus_folder))
    rounds = [drawn_rounds(corpus_folder)]
    # What some are asked again for, tightness and races, is not told from them here.
    for count in (len(before) // 2, len(before) + 40):
        engine = Recorded()
        hunt_with(engine, tmp_path, replace(LIMITS, examples=count))
        rounds.append(drawn_rounds(tmp_path))
    again = [question for question in dict.fromkeys(engine.questions) if question in set(before)]
    assert again == list(dict.fromkeys(before))
    assert rounds[0] == rounds[1] < rounds[2]
    alone = Recorded()
    hunt_with(alone, tmp_path / "none", replace(LIMITS, examples=40))
    assert not (set(alone.questions[:20]) - set(before)) & set(engine.questions)


def test_a_hunt_that_goes_on_in_the_same_release_asks_nothing_again(corpus_folder, tmp_path):
    shutil.copytree(corpus_folder, tmp_path, dirs_exist_ok=True)
    engine = Recorded()
    hunt_with(engine, tmp_path, replace(LIMITS, examples=20), asked=True)
    assert len(engine.questions_of_tables) >= 20
    assert not engine.questions_of_tables & questions_of_tables(kept_worlds(corpus_folder))
    again = Recorded()
    hunt_with(again, tmp_path, replace(LIMITS, examples=20))
    assert again.questions_of_tables & questions_of_tables(kept_worlds(tmp_path))


def test_only_some_worlds_are_explained_and_none_without_a_corpus(tmp_path):
    engine = Recorded()
    state = hunt_with(engine, tmp_path)
    assert 0 < engine.explained < len(engine.questions) / (WORLDS_PER_EXPLANATION / 2)
    assert len(kept_texts(tmp_path)) <= state.worlds / WORLDS_PER_EXPLANATION + 1
    alone = Recorded()
    hunt(alone, capabilities(alone), replace(LIMITS, examples=60), hunt_seed=4)
    assert alone.explained == 0


def test_what_was_skipped_is_the_feature_of_an_engine_that_tells_none(tmp_path):
    engine = SmallEngine()
    engine.hello = replace(engine.hello, features=False)
    hunt_with(engine, tmp_path)
    words = {
        effect
        for text in kept_texts(tmp_path).values()
        for of_question in json.loads(text)["effects"]
        for effect in of_question
    }
    skipping = words - {"rows", "no rows", "an error"}
    assert skipping
    assert all(" skipped by " in word for word in skipping)


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


def test_questions_that_an_engine_does_not_have_stay_in_the_corpus_unasked(corpus_folder, tmp_path):
    shutil.copytree(corpus_folder, tmp_path, dirs_exist_ok=True)
    world = next(world for world in kept_worlds(corpus_folder) if "topk" in areas_of([world]))
    with_switch = replace(world, settings={"statistics": "no bounds"})
    Corpus(tmp_path).add(with_switch, [result_with("pages")] * len(world.questions))
    able = capabilities(SmallEngine(), areas=("topk",))
    without_switches = replace(able, settings={})
    of_engine = list(Corpus(tmp_path).worlds(able))
    assert areas_of(kept_worlds(corpus_folder)) == {"filter", "topk"}
    assert areas_of(of_engine) == {"topk"}
    assert with_switch.settings in [world.settings for world in of_engine]
    assert not any(world.settings for world in Corpus(tmp_path).worlds(without_switches))


@pytest.mark.parametrize("name", ["worlds/0.json", "index.json"])
def test_a_corpus_that_cannot_be_read_is_refused_with_the_file(name, tmp_path):
    Corpus(tmp_path)
    for text in ("no JSON", "[]", '{"world": {}, "effects": []}', '{"rounds": {"4": 1}, "order": [1]}'):
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


def test_the_plans_of_polars_are_features_without_their_constants_and_paths(stored_table):
    first, other = features_of(OnPolars(), stored_table, (1, 2))
    assert first == other
    assert 'SELECTION: col("a") == ?' in first
    assert "Parquet SCAN ?" in first


def test_what_the_indexes_of_clickhouse_leave_is_a_feature_without_counts():
    lines = [
        "ReadFromMergeTree (default.t)",
        "   Prewhere filter column:  b = 'x' AND a > 12",
        "   Indexes:",
        "     PrimaryKey",
        "       Condition: (rid in [3, 3])",
        "       Parts: 2/2",
        "       Granules: 1/5",
        "│  └──Skip",
        "       Parts: 0/2",
        "",
    ]
    assert list(plan_features(lines)) == [
        "ReadFromMergeTree (default.t)",
        "Prewhere filter column:  b = ? AND a > ?",
        "Indexes:",
        "Condition: (rid in [?, ?])",
        "PrimaryKey leaves all parts",
        "PrimaryKey leaves some granules",
        "Skip leaves no parts",
    ]


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


def kept_world(world, *effects_, questions=1, rows=1):
    """A world of so many equal questions and rows, with what became of the first."""
    (name, table), *_ = world.tables.items()
    table = replace(table, blocks=(((None,) * len(table.columns),) * rows,))
    others = ((),) * (questions - 1)
    return KeptWorld(
        replace(world, tables={name: table}, questions=(A_IS_ONE,) * questions), (effects_, *others)
    )


def order_faults(order, world):
    """The rules of the order that a function of it breaks."""
    few, many = kept_world(world, "x"), kept_world(world, "x", "y", "z")
    other, twice = kept_world(world, "v"), kept_world(world, "x", "y")
    wide, long = kept_world(world, "x", rows=5_000), kept_world(world, "x", questions=12)
    return {
        name
        for name, worlds, right in (
            ("more features", [few, many], [1, 0]),
            ("features that another has", [twice, other, many], [2, 1, 0]),
            ("rows", [wide, few], [1, 0]),
            ("questions", [long, few], [1, 0]),
        )
        if order(worlds) != right
    }


def test_worlds_with_the_most_new_features_for_their_work_are_asked_first(corpus_folder):
    world, *_ = kept_worlds(corpus_folder)
    assert not order_faults(most_features_first, world)
    assert order_faults(as_kept, world)
    assert {"features that another has", "rows"} <= order_faults(most_features_of_all, world)
