"""The stand's report: all findings are on the page, escaped; nothing is fetched, nothing is half written."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from shown_page import Page

from pruning.errors import InputError
from skipproof.stand.report import report
from skipproof.stand.report.report import render, write_report


def table(blocks: list[list[list[Any]]], *names: str) -> dict[str, Any]:
    return {"columns": [{"name": name, "type": "string"} for name in names], "blocks": blocks}


def finding(**changed: Any) -> dict[str, Any]:
    """Rows that DuckDB lost, or what it is changed to."""
    return {
        "engine": "duckdb",
        "version": "2.0.0",
        "area": "filter",
        "verdict": "rows lost",
        "difference": "0 rows instead of 1, missing ('NaN', 0)",
        "oracle": "itself",
        "blame": "right without statistics in the footer",
        "no_opinion": "",
        "traits": ["NaN", "equality"],
        "seed": 7,
        "examples": 1510,
        "seconds": 3.71,
        "seen": 4,
        "settings": {},
        "name": "01-filter-rows-lost",
        "source": "import duckdb\nanswer = []",
        "tables": {"t": table([[["NaN", 0]], [[None, 1]]], "a", "rid")},
        "layouts": {"t": "Layout(writer='pyarrow')"},
        "found": {"rows": []},
        "expected": {"rows": [["NaN", 0]]},
    } | changed


def result(*findings: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {
        "engine": "duckdb",
        "version": "2.0.0",
        "seed": 0,
        "examples": 3097,
        "seconds": 60.1,
        "areas": ["filter", "limit"],
        "refused": {},
        "no_opinion": {},
        "tightness": [],
        "findings": list(findings),
    } | changed


def page_text(*results: dict[str, Any]) -> str:
    """Return the text of a page, with each run of white space as one space."""
    return " ".join(Page(render(results)).text.split())


def heat(*tallies: tuple[str, int, int]) -> dict[str, Any]:
    names = ("family", "skipped", "skippable")
    return result(tightness=[dict(zip(names, tally, strict=True)) for tally in tallies])


def test_every_engine_and_finding_is_there_and_linked() -> None:
    results = [
        result(finding(name="01-a"), finding(name="02-b", verdict="rows added")),
        result(engine="polars", version="2.1.0"),
        result(finding(name="01-a"), version="1.5.5"),
    ]
    page = Page(render(results))
    anchors = [link.removeprefix("#") for link in page.values_of("href")]
    identities = page.values_of("id")
    assert len(set(identities)) == len(identities)
    assert set(anchors) == set(identities)
    assert {"engine-1", "engine-2", "engine-3", "finding-1-1", "finding-1-2", "finding-3-1"} <= set(anchors)
    for text in (
        "duckdb 2.0.0",
        "polars 2.1.0",
        "duckdb 1.5.5",
        "01-a",
        "02-b",
        "9,291 examples, 3 findings",
    ):
        assert text in page.text


def test_a_finding_says_that_the_reference_has_no_opinion() -> None:
    doubt = "the reference has no opinion (zeros)"
    assert doubt in page_text(result(finding(no_opinion="zeros")))
    assert "no opinion (" not in page_text(result(finding()))


def test_a_finding_tells_all_that_is_known_of_it() -> None:
    text = page_text(result(finding(settings={"threads": "4"})))
    for part in (
        "missing ('NaN', 0)",
        "right without statistics in the footer",
        "equality",
        "threads = 4",
        "4 times; first after 1,510 examples and 3.7 s of asking, seed 7",
        'Table t 2 blocks, 2 rows block a string rid string 0 "NaN" 0 1 NULL 1',
        "Layout(writer='pyarrow')",
        'only here "NaN" 0',
        "No rows.",
        "import duckdb answer = []",
    ):
        assert part in text


def test_engines_are_side_by_side() -> None:
    """Examples, speed, findings by verdict and refusals; a verdict that is not known has its column too."""
    text = page_text(
        result(finding(), finding(), finding(verdict="odd"), refused={"A": 1200, "B": 34}),
        result(engine="polars", version="2.1.0", seconds=0.0, examples=0),
    )
    assert "an error instead of rows odd by the reference refused" in text
    assert "duckdb 2.0.0 3,097 51.5 2 0 0 0 1 0 1,234" in text
    assert "polars 2.1.0 0 0 0 0 0 0 0 0" in text


def test_no_result_is_not_a_pass() -> None:
    for results in ([], [result(examples=0)]):
        text = page_text(*results)
        assert "Nothing was judged" in text
        assert "No contradiction" not in text
    assert "No contradiction was found" in page_text(result())


@pytest.mark.parametrize(
    ("tally", "share"),
    [
        (("ordering", 100, 120), "83 % 100 of 120"),
        (("ordering", 0, 120), "0 % 0 of 120"),
        (("ordering", 1, 1000), "<1 % 1 of 1,000"),
        (("ordering", 999, 1000), ">99 % 999 of 1,000"),
        (("ordering", 7, 7), "100 % 7 of 7"),
        (("ordering", 0, 0), "nothing to skip"),
        # Skipping what must be read is no tightness.
        (("ordering", 8, 7), "too many 8 of 7"),
    ],
)
def test_the_heat_map_has_its_numbers_in_its_cells(tally: tuple[str, int, int], share: str) -> None:
    assert f"ordering {share} not told" in page_text(heat(tally), heat(("pattern", 1, 2)))


def test_the_colour_never_falls_as_the_share_grows() -> None:
    steps = [report.SkippedShare(skipped, 100).step for skipped in range(101)]
    assert steps == sorted(steps)
    assert [steps[0], steps[1], steps[25], steps[50], steps[75], steps[99], steps[100]] == [
        0,
        1,
        2,
        3,
        4,
        4,
        5,
    ]


def test_an_engine_that_does_not_tell_has_an_empty_column() -> None:
    assert "pattern 50 % 1 of 2 not told" in page_text(heat(("pattern", 1, 2)), result(engine="polars"))
    assert "No engine told what it skipped" in page_text(result())


NASTY = (
    '</pre></style><script>alert("\'&amp;")</script><img src=http://x.example/>'
    " {{ 7 * 7 }}\x00\x1b\x85\u202e\ud800\U0010ffff"
)


def everywhere(text: str) -> dict[str, Any]:
    """A result in which each text is the same."""
    one = finding(
        **dict.fromkeys(["area", "difference", "blame", "name", "source"], text),
        verdict=f"odd: {text}",
        traits=[text],
        settings={text: text},
        tables={text: {"columns": [{"name": text, "type": text}], "blocks": [[[text], [{text: [text]}]]]}},
        layouts={text: text},
        found={"error": text},
        expected={"rows": [[text]]},
    )
    return result(
        one,
        engine=text,
        version=text,
        areas=[text],
        refused={text: 1},
        tightness=[{"family": text, "skippable": 2, "skipped": 1}],
    )


def test_what_engines_say_is_never_markup() -> None:
    harmless, nasty = Page(render([everywhere("x")])), Page(render([everywhere(NASTY)]))
    assert nasty.tags == harmless.tags
    assert [key for key, _ in nasty.attributes] == [key for key, _ in harmless.attributes]
    assert "{{ 7 * 7 }}\\u{0}\\u{1b}\\u{85}\\u{202e}\\u{d800}\\u{10ffff}" in nasty.text


@given(text=st.text(st.characters(categories=None), max_size=30))
def test_any_text_is_a_page_of_the_same_elements(text: str) -> None:
    """Of every code point, surrogates and controls as well; and the page can be encoded."""
    rendered = render([everywhere(text or "x")])
    rendered.encode("utf-8")
    assert Page(rendered).tags == Page(render([everywhere("x")])).tags
    assert all(character.isprintable() or character in "\n\t\u2009" for character in rendered)


def test_texts_are_not_taken_for_what_they_look_like() -> None:
    rows = [["NULL", None, "1", 1, True, "true", "\\u{0}", "\0"]]
    text = page_text(result(finding(tables={"t": table([rows], *"abcdefgh")})))
    assert '"NULL" NULL "1" 1 true "true" "\\\\u{0}" "\\u0000"' in text


def test_rows_that_only_one_answer_has_are_marked() -> None:
    one = finding(found={"rows": [[True], [1], [1]]}, expected={"rows": [[1.0], [2], [None]]})
    text = page_text(result(one))
    assert "OFFSET 1.0 only here 2 only here NULL" in text
    assert "with statistics only here true 1 only here 1" in text


def test_an_error_marks_no_row() -> None:
    page = Page(render([result(finding(found={"error": "it died"}))]))
    assert "it died" in page.text
    assert "alone" not in page.values_of("class")


def test_cut_tables_say_so() -> None:
    blocks = [[[number, number] for number in range(30)] for _ in range(4)]
    answer = {"rows": [[number] for number in range(1041)]}
    text = page_text(result(finding(tables={"t": table(blocks, "a", "rid")}, expected=answer)))
    assert "Table t 4 blocks, 120 rows" in text
    assert "Left out: 80 rows of 120 rows, 2 blocks whole." in text
    assert "Left out: 1,001 rows of 1,041 rows." in text


def test_cut_blocks_texts_scripts_and_reasons_say_so() -> None:
    one = finding(
        tables={"t": table([[] for _ in range(50)], "a"), "u": table([[["x" * 1118]]], "b")},
        source="\n".join("pass" for _ in range(report.LINES_MAX + 9)),
        found={"error": "y" * 2007},
    )
    text = page_text(result(one, refused={f"reason {number}": number for number in range(1, 13)}))
    assert "Left out: 0 rows of 0 rows, 10 blocks whole." in text
    assert "… (1,000 characters left out)" in text
    assert "… (7 characters left out)" in text
    assert "Left out: 9 lines; the whole script" in text
    assert "reason 3 Left out: 2 rarer reasons." in text


def test_whole_tables_do_not_say_that_they_are_cut() -> None:
    exact = [[[number] for number in range(report.ROWS_MAX)], []]
    assert "eft out" not in page_text(result(finding(tables={"t": table(exact, "a")})))


def test_the_page_asks_for_nothing() -> None:
    rendered = render([result(finding(source=""), refused={"no": 1}), heat(("cast", 1, 2))])
    page = Page(rendered)
    assert "http:" not in rendered
    assert "https:" not in rendered
    assert re.search(r"url\(|@import|@font-face", rendered) is None
    assert not {"script", "link", "img", "iframe", "object", "base", "form"}.intersection(page.tags)
    assert not {"src", "srcset", "style", "action", "onclick"}.intersection(key for key, _ in page.attributes)
    assert all(link.startswith("#") for link in page.values_of("href"))
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values_of("content")


def test_what_json_says_is_enough(tmp_path: Path) -> None:
    results = json.loads(json.dumps([everywhere(NASTY), result(finding())]))
    write_report(results, tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == render(results)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["report.html"]


def test_a_report_is_never_half_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where rendering raises, nor where writing does: the older report stays."""
    path = tmp_path / "report.html"
    write_report([], path)
    older = path.read_text(encoding="utf-8")
    with pytest.raises(UndefinedError, match="blame"):
        write_report([result({key: value for key, value in finding().items() if key != "blame"})], path)

    def fails(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(InputError, match=r"report\.html cannot be written: disk full"):
        write_report([result()], path)
    assert path.read_text(encoding="utf-8") == older
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
