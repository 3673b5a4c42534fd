"""`skipproof history`: its exit status, JSON lines, pages, and sentences for unusable histories."""

import contextlib
import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from needs import needs_package

from oracles.isolation import PHENOMENA, Step, Witness
from oracles.isolation.files import convert_histories
from skipproof.commands import table_logs
from skipproof.histories.drawing import NODES_MAX, dot, svg

Run: TypeAlias = Callable[..., tuple[int, str, str]]

SERIAL = (
    '{"id": "serial", "ops": [["w", 1, "x@1"], ["c", 1], ["r", 2, "x@1"], ["c", 2]], "vo": {"x": ["x@1"]}}'
)
SKEWED = (
    '{"id": "skewed", "ops": [["w", 1, "x@1"], ["c", 1], ["d", 3, "y@3", ["x@1"]], ["c", 3], '
    '["w", 2, "x@2"], ["c", 2], ["b", 5], ["r", 5, "y@3"], ["r", 5, "x@2"], ["c", 5]], '
    '"vo": {"x": ["x@1", "x@2"], "y": ["y@3"]}}'
)
BROKEN = '{"id": "broken", "ops": [["c", 1]], "vo": {}}'
NAMELESS = '{"ops": [], "vo": {}}'


@pytest.fixture
def histories(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes lines into a file and returns its path."""

    def write(*lines: str, name: str = "histories.jsonl") -> str:
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.fixture(params=["lines", "parquet"])
def either(
    request: pytest.FixtureRequest, histories: Callable[..., str], tmp_path: Path
) -> Callable[..., str]:
    """Return a function that writes lines into a file of either format and returns its path."""

    def write(*lines: str) -> str:
        path = histories(*lines)
        if request.param == "lines":
            return path
        convert_histories(Path(path), tmp_path / "histories.parquet")
        return str(tmp_path / "histories.parquet")

    return write


def test_each_history_is_a_line_of_json(run: Run, either: Callable[..., str]) -> None:
    status, out, err = run("history", either(SERIAL, SKEWED), "--json")
    serial, skewed = (json.loads(line) for line in out.splitlines())
    assert (status, err) == (0, "")
    assert serial == {"id": "serial", "phenomena": [], "strongest": ["PL-SI", "PL-3"], "witness": {}}
    assert (skewed["id"], skewed["strongest"]) == ("skewed", ["PL-2"])
    assert skewed["phenomena"] == ["G-SI", "G-SI-rt", "G-nonadjacent", "G-single", "G2", "G2-item"]
    assert list(skewed["witness"]) == skewed["phenomena"]
    steps = skewed["witness"]["G-single"]["steps"]
    assert [(step["from"], step["kind"], step["to"]) for step in steps] == [(5, "rw", 2), (2, "wr", 5)]
    assert steps[0]["because"] == "T5 read y@3, which derives from x@1, and T2 wrote x@2, the next version"


def test_people_are_told_why(run: Run, either: Callable[..., str]) -> None:
    status, out, _ = run("history", either(SERIAL, SKEWED))
    assert status == 0
    assert "serial: PL-SI and PL-3; no phenomenon\n" in out
    assert "skewed: PL-2; G-SI, G-SI-rt, G-nonadjacent, G-single, G2, G2-item\n" in out
    assert "T5 < T2, because T5 read y@3, which derives from x@1, and T2 wrote x@2, the next version\n" in out
    assert "but T2 < T5, because T5 read x@2, which T2 wrote: a contradiction\n" in out


@pytest.mark.parametrize(
    ("levels", "expected"),
    [(["PL-2"], 0), (["PL-3"], 1), (["PL-1", "PL-2+"], 1), (["PL-1", "PL-2"], 0), (["PL-SI"], 1)],
)
def test_a_required_level_that_fails_is_a_violation(
    run: Run, either: Callable[..., str], levels: list[str], expected: int
) -> None:
    options = [part for level in levels for part in ("--require", level)]
    status, out, err = run("history", either(SERIAL, SKEWED), *options)
    assert (status, err) == (expected, "")
    assert ("is required: invalid" in out) == bool(expected)


def test_a_history_that_cannot_be_judged_has_its_line_and_the_others_are_judged(
    run: Run, histories: Callable[..., str]
) -> None:
    path = histories(SERIAL, "", BROKEN, "{", SKEWED)
    status, out, err = run("history", path, "--json", "--require", "PL-2")
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 2
    assert err.splitlines() == [
        f"skipproof: {path}, line 3: T1 commits but never began",
        f"skipproof: {path}, line 4: it is not JSON: Expecting property name enclosed in double quotes at "
        "character 2",
    ]
    assert [one["id"] for one in found] == ["serial", "broken", "line 4", "skewed"]
    assert [one["strongest"] for one in found] == [["PL-SI", "PL-3"], None, None, ["PL-2"]]
    assert found[1]["phenomena"] is None
    assert found[1]["unknown"] == list(PHENOMENA)


def test_what_is_unknown_does_not_satisfy_a_level(run: Run, histories: Callable[..., str]) -> None:
    _, out, _ = run("history", histories(BROKEN), "--require", "PL-1")
    assert "broken: unknown, because T1 commits but never began" in out
    assert "PL-1 is required: unknown" in out


def test_a_history_without_a_name_is_called_by_its_line(run: Run, histories: Callable[..., str]) -> None:
    _, out, _ = run("history", histories("", NAMELESS), "--json")
    assert json.loads(out)["id"] == "line 2"


def test_some_transactions_alone_are_judged(run: Run, either: Callable[..., str]) -> None:
    _, out, _ = run("history", either(SKEWED), "--transactions", "T1, 5", "--json")
    assert json.loads(out)["phenomena"] == []


def test_the_literal_clause_is_an_option(run: Run, either: Callable[..., str]) -> None:
    again = (
        '{"id": "again", "ops": [["w", 1, "x@1"], ["w", 2, "y@2"], ["c", 1], ["c", 2], ["d", 3, "z@3", '
        '["x@1", "y@2"]], ["d", 3, "z@4", ["x@1", "y@2"]], ["c", 3]], '
        '"vo": {"x": ["x@1"], "y": ["y@2"], "z": ["z@3", "z@4"]}}'
    )
    path = either(again)
    assert "G0" not in json.loads(run("history", path, "--json")[1])["phenomena"]
    assert "G0" in json.loads(run("history", path, "--json", "--literal")[1])["phenomena"]


def test_a_file_is_converted_and_back(run: Run, histories: Callable[..., str], tmp_path: Path) -> None:
    path = histories(SERIAL, SKEWED)
    parquet, back = str(tmp_path / "a.parquet"), str(tmp_path / "b.jsonl")
    assert run("history", path, "--convert", parquet) == (0, f"2 histories written to {parquet}\n", "")
    assert run("history", parquet, "--convert", back)[0] == 0
    assert run("history", back, "--json")[1] == run("history", path, "--json")[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{missing}"], "{missing}: it cannot be read: No such file or directory"),
        (["{folder}"], "{folder}: it cannot be read: Is a directory"),
        (["{empty}"], "{empty}: it holds no history"),
        (
            ["{good}", "--require", "PL-9"],
            "--require PL-9: it is one of PL-1, PL-2, PL-2+, PL-2.99, PL-SI, PL-3",
        ),
        (["{good}", "--transactions", "x"], "--transactions x: give numbers, as 1,2,5"),
        (["{good}", "--transactions", "9" * 5000], f"--transactions {'9' * 5000}: give numbers, as 1,2,5"),
        (["{good}", "--transactions", "9"], "{good}, line 1: T9 is not in the history"),
        (["{good}", "--report", "{good}/a.html"], "{good}/a.html cannot be written: File exists"),
        (["{good}", "--report", "{folder}"], "{folder} cannot be written: it is a folder"),
        (["{broken}", "--convert", "{missing}"], "{broken}: line 1: it has no field 'ops'"),
        (["{missing}", "--convert", "{new}"], "{missing}: it cannot be read: No such file or directory"),
        (["{empty}", "--convert", "{new}"], "{empty}: it holds no history"),
        (["{good}", "--convert", "{folder}"], "{folder} cannot be written: Is a directory"),
        (["{good}", "--convert", "{good}/a.jsonl"], "{good}/a.jsonl cannot be written: Not a directory"),
        (["{good}", "--convert", "{good}/a.parquet"], "{good}/a.parquet cannot be written: Not a directory"),
        (
            ["{good}", "--convert", "{new}", "--require", "PL-3"],
            "--convert: it judges nothing; give it no other option",
        ),
        (["{good}", "--convert", "{new}", "--json"], "--convert: it judges nothing; give it no other option"),
    ],
)
def test_bad_usage_is_one_sentence(
    run: Run, histories: Callable[..., str], tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    names = {
        "missing": str(tmp_path / "missing.jsonl"),
        "folder": str(tmp_path),
        "good": histories(SKEWED, name="good.jsonl"),
        "broken": histories("{}", name="broken.jsonl"),
        "empty": histories("", name="empty.jsonl"),
        "new": str(tmp_path / "new.jsonl"),
    }
    before = sorted(tmp_path.iterdir())
    status, _, err = run("history", *(part.format(**names) for part in arguments))
    assert (status, err) == (2, f"skipproof: {sentence.format(**names)}\n")
    assert sorted(tmp_path.iterdir()) == before


def test_a_history_without_a_chosen_transaction_is_unknown_and_the_others_are_judged(
    run: Run, either: Callable[..., str]
) -> None:
    status, out, err = run("history", either(SERIAL, SKEWED), "--transactions", "2,5", "--json")
    serial, skewed = (json.loads(line) for line in out.splitlines())
    assert status == 2
    assert len(err.splitlines()) == 1
    assert err.endswith(" 1: T5 is not in the history\n")
    assert (serial["id"], serial["problem"]) == ("serial", "T5 is not in the history")
    assert (skewed["id"], skewed["strongest"]) == ("skewed", ["PL-2"])


def test_without_scipy_one_sentence_says_what_to_install(
    run: Run, histories: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("oracles.isolation", "skipproof.histories"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("skipproof.histories.judging", raising=False)
    for name in ("scipy", "scipy.sparse"):
        monkeypatch.setitem(sys.modules, name, None)
    status, _, err = run("history", histories(SERIAL))
    assert (status, err) == (
        2,
        "skipproof: Histories need SciPy: run `pip install 'skipproof[histories]'`.\n",
    )


class Text(HTMLParser):
    """The text of a page, and how its elements are called."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_shows_each_history_and_witness(
    run: Run, histories: Callable[..., str], tmp_path: Path
) -> None:
    path, report = histories(SERIAL, SKEWED, BROKEN), tmp_path / "new" / "report.html"
    assert run("history", path, "--report", str(report), "--require", "PL-3")[0] == 2
    page = Text(report.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert page.tags.count("svg") == 2
    for shown in ("serial", "skewed", "broken", "T1 commits but never began", "PL-3 is required: invalid"):
        assert shown in page.text
    assert "but T2 < T5, because T5 read x@2, which T2 wrote: a contradiction" in page.text


def test_what_a_report_quotes_is_escaped(run: Run, histories: Callable[..., str], tmp_path: Path) -> None:
    evil = (
        SKEWED.replace("skewed", "<script>1</script>")
        .replace("x@", "<b>&\\u202e@")
        .replace('"x"', '"<b>&\\u202e"')
    )
    assert run("history", histories(evil), "--report", str(tmp_path / "report.html"))[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page


def circle(size: int) -> Witness:
    ends = zip(range(size), [*range(1, size), 0], strict=True)
    return Witness("G0", tuple(Step(tail, "ww", head, '"<because>"\n') for tail, head in ends))


def picture_elements(picture: str) -> Iterator[ElementTree.Element]:
    yield from ElementTree.fromstring(picture).iter()


@pytest.mark.parametrize("size", [1, 2, 3, 7, NODES_MAX])
def test_a_picture_has_each_transaction_and_step(size: int) -> None:
    witness = circle(size) if size > 1 else Witness("G1a", (Step(1, "wr", 12345, "a read"),))
    picture = svg(witness)
    assert picture is not None
    elements = list(picture_elements(picture))
    assert sum(element.tag.endswith("circle") for element in elements) == max(size, 2)
    assert sum(element.tag.endswith("}g") for element in elements) == len(witness.steps)
    _, left, top, width, height = 0.0, *map(float, elements[0].attrib["viewBox"].split())
    for element in elements:
        if "x" in element.attrib:
            assert left <= float(element.attrib["x"]) <= left + width
            assert top <= float(element.attrib["y"]) <= top + height


def test_a_picture_of_too_many_is_not_drawn() -> None:
    assert svg(circle(NODES_MAX + 1)) is None


def test_graphviz_has_each_step() -> None:
    text = dot(circle(3))
    assert text.startswith('digraph "G0" {')
    assert '  T2 -> T0 [label="ww"' in text
    assert 'tooltip="\\"<because>\\"\\n"' in text
    assert text.count("->") == 3


def test_a_history_is_of_a_file_or_of_a_table(run: Run, histories: Callable[..., str]) -> None:
    sentence = "skipproof: history: give FILE, or --table PATH and maybe --key COLUMN\n"
    path = histories(SERIAL)
    for arguments in ((), (path, "--table", "lake"), (path, "--key", "id")):
        status, out, err = run("history", *arguments)
        assert (status, out, err) == (2, "", sentence)


def test_the_log_of_a_table_is_judged(
    run: Run, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_logs, "spark_session", lambda: contextlib.nullcontext(spark))
    needs_package("deltalake")
    from deltalake import write_deltalake

    table = str(tmp_path / "table")
    for number in range(2):
        write_deltalake(table, pa.table({"x": [number]}), mode="append")
    status, out, err = run("history", "--table", table, "--require", "PL-3")
    assert (status, out) == (0, f"{table}: PL-SI and PL-3; no phenomenon\n")
    assert (
        err == f"skipproof: {table}: the reads of 2 of 2 commits are not known and were not checked: 0, 1\n"
    )
    assert run("history", "--table", table, "--key", "y")[0] == 2
