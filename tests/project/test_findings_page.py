"""The pages of `docs/findings`: their template, index, links, scripts and counts, and the releases."""

import re
import tomllib
from collections import Counter

from finding_pages import (
    FINDINGS,
    INDEX,
    INHERITED,
    LINK,
    PAGES,
    ROOT,
    SCRIPTS,
    SEARCHES,
    Count,
    Kind,
    anchor,
    causes,
    effects_of,
    groups,
    lines_outside_fences,
    sections,
    table,
    title,
)
from packaging.specifiers import SpecifierSet
from packaging.version import Version

# The pages of the engines that each group pins, and their packages.
ENGINES = {
    "engines": {
        "datafusion": "datafusion",
        "deltalake": "deltalake",
        "duckdb": "duckdb",
        "iceberg": "pyiceberg",
        "polars": "polars",
    },
    "engines-more": {"clickhouse": "chdb", "daft": "daft"},
}
# Groups that have to be installed apart, and the package of which they need different releases.
APART = {frozenset({"engines", "tpch"}): "duckdb", frozenset({"engines", "duckdb-iceberg"}): "duckdb"}
# A cause is about 18 lines of text, and what its scripts print, two lines each.
TEXT_LINES_MAX = 25
PRINTED_LINES_MAX = 4


def counts_by_hunt() -> dict[str, dict[str, Count]]:
    """For each hunt the causes it found, by where they are described, with their counts."""
    counts: dict[str, dict[str, Count]] = {}
    for cause in causes():
        if cause.hunt_counts is not None:
            hunt, count = cause.hunt_counts
            counts.setdefault(hunt, {})[cause.target] = count
    for page in PAGES:
        if INHERITED in {section.heading for section in sections(page)}:
            for link, hunt, findings, seen, _ in table(page, INHERITED):
                ((_, target),) = re.findall(LINK, link)
                count = Count(int(findings), None if seen == "-" else int(seen))
                assert counts.setdefault(hunt.strip("`"), {}).setdefault(target, count) == count
    return counts


def specifiers(package: str) -> dict[str, SpecifierSet]:
    """The requirement of a package in each group that names it."""
    return {
        name: requirement.specifier
        for name, requirements in groups().items()
        for requirement in requirements
        if requirement.name == package
    }


def test_every_script_is_named_by_a_page() -> None:
    linked = {
        page.parent / target
        for page in PAGES
        for _, target in re.findall(LINK, page.read_text(encoding="utf-8"))
        if target.endswith(".py")
    }
    assert linked == set(SCRIPTS)


def test_the_links_between_the_pages_lead_to_files_and_headings() -> None:
    """Links to other hosts are not followed."""
    for page in [INDEX, *PAGES]:
        for _, target in re.findall(
            LINK, "\n".join(lines_outside_fences(page.read_text(encoding="utf-8").splitlines()))
        ):
            if re.match(r"https?:", target):
                continue
            name, _, fragment = target.partition("#")
            linked = page.parent / name if name else page
            assert linked.is_file(), (page.name, target)
            if fragment:
                assert fragment in [anchor(section.heading) for section in sections(linked)], (
                    page.name,
                    target,
                )


def test_a_heading_has_the_same_anchor_on_github_and_on_the_site() -> None:
    """GitHub makes a hyphen of each space, Python-Markdown one of several; both number repeated headings."""
    for page in [INDEX, *PAGES]:
        anchors = [anchor(section.heading) for section in sections(page)]
        assert len(set(anchors)) == len(anchors), page.name
        for name in anchors:
            assert re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", name), (page.name, name)


def test_every_cause_has_the_parts_of_the_template_in_their_order() -> None:
    """The index tells the template; the last part alone may be missing."""
    template = [part.strip("*") for part, _ in table(INDEX, "How a cause is described")]
    assert len(template) > 3
    for cause in causes():
        names = [name for name, _ in cause.parts]
        assert names in (template, template[:-1]), cause.target
        assert all(text for _, text in cause.parts), cause.target
        assert re.search(r"\.py\)", dict(cause.parts)["Smallest case"]), cause.target


def test_a_cause_is_short() -> None:
    for cause in causes():
        text = [line for line in lines_outside_fences(cause.section.lines) if line]
        fences = sum(line.startswith("```") for line in cause.section.lines)
        printed = sum(map(bool, cause.section.lines)) - len(text) - fences
        assert len(text) <= TEXT_LINES_MAX, cause.target
        assert printed <= PRINTED_LINES_MAX, cause.target


def test_the_index_lists_the_causes_of_the_pages_and_nothing_else() -> None:
    rows = []
    for engine, link, *_ in table(INDEX, "Index"):
        ((heading, target),) = re.findall(LINK, link)
        rows.append((engine, heading, target))
    assert Counter(rows) == Counter((cause.engine, cause.section.heading, cause.target) for cause in causes())


def test_the_rows_of_the_index_say_what_the_pages_say() -> None:
    by_target = {cause.target: cause for cause in causes()}
    text = " ".join(INDEX.read_text(encoding="utf-8").split())
    for _, link, kind, effects, known, count, upstream in table(INDEX, "Index"):
        ((_, target),) = re.findall(LINK, link)
        cause = by_target[target]
        opening = dict(cause.parts)["Known"]
        assert f"*{kind}*" in text, (target, kind)
        assert set(effects.split(", ")) == effects_of(cause), (target, effects)
        assert known == cause.kind.value, target
        hunt_counts = cause.hunt_counts
        assert count == ("{0.findings} ({0.seen})".format(hunt_counts[1]) if hunt_counts else "-"), target
        if links := re.findall(LINK, upstream):
            assert re.match(LINK, opening), target
            assert [address for _, address in links] == [re.findall(LINK, opening)[0][1]], target
        else:
            assert upstream in ("none found", "by design"), target
            assert opening.startswith(upstream), target


def test_a_cause_without_a_thread_names_two_searches_and_their_day() -> None:
    for cause in causes():
        opening = dict(cause.parts)["Known"]
        if opening.startswith("none found"):
            match = SEARCHES.match(opening)
            assert match, cause.target
            assert set(match[1].lower().split()) != set(match[2].lower().split()), cause.target


def test_the_causes_are_counted_by_what_is_known_of_them() -> None:
    """The table has a row for each page and one for all, the opening lines and the README the sums."""
    counts = Counter((cause.engine, cause.kind) for cause in causes())
    *rows, (_, *sums) = table(INDEX, "What is known upstream")
    assert sorted(row[0] for row in rows) == sorted(map(title, PAGES))
    for engine, *figures in rows:
        by_kind = [counts[engine, kind] for kind in Kind]
        assert list(map(int, figures)) == [sum(by_kind), *by_kind], engine
    total = [sum(counts[engine, kind] for engine, *_ in rows) for kind in Kind]
    assert list(map(int, sums)) == [sum(total), *total]
    own = sum(count for (_, kind), count in counts.items() if kind is Kind.STAND)
    opening = " ".join(INDEX.read_text(encoding="utf-8").split())
    assert len(rows) - 1 == 9, "the words of the next line count the engines"
    assert f"the {sum(total)} causes: {sum(total) - own} in nine engines, and {own} that" in opening
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"found {sum(total) - own} distinct causes of wrong answers and errors" in readme


def test_the_engines_are_pinned_to_the_releases_that_the_findings_are_about() -> None:
    for group, packages in ENGINES.items():
        pins = {
            package: SpecifierSet(f"=={title(FINDINGS / f'{page}.md').split()[-1]}")
            for page, package in packages.items()
        }
        assert {package: specifiers(package)[group] for package in pins} == pins


def test_the_page_of_clickhouse_names_the_release_that_is_pinned_within_chdb() -> None:
    (pin,) = specifiers("chdb-core")["engines-more"]
    assert pin.operator == "=="
    assert f"chdb-core {pin.version} " in (FINDINGS / "clickhouse.md").read_text(encoding="utf-8")


def test_groups_that_need_two_releases_of_an_engine_cannot_be_installed_together() -> None:
    """Else pip would choose the release of one, and the findings would be tried with another."""
    for group, packages in ENGINES.items():
        for package in packages.values():
            asked = specifiers(package)
            (pin,) = asked[group]
            for name, specifier in asked.items():
                agrees = specifier.contains(Version(pin.version))
                assert agrees is (APART.get(frozenset({group, name})) != package), (package, name)


def test_the_groups_that_are_installed_apart_are_told_to_uv_and_in_the_contributing_guide() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["conflicts"]
    assert {frozenset(group["group"] for group in conflict) for conflict in told} == set(APART)
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(all(f"`{group}`" in guide for group in groups_apart) for groups_apart in APART)


def test_the_counts_of_a_hunt_are_of_one_run() -> None:
    """The causes of a hunt have together as many findings as the table of the hunts says."""
    hunts = table(INDEX, "The hunts")
    counts = counts_by_hunt()
    assert {engine.strip("`") for _, engine, *_ in hunts} == set(counts)
    for _, engine, _, _, _, findings, of_engines, of_the_stand in hunts:
        hunt = counts[engine.strip("`")]
        own = [target for target in hunt if target.startswith("skipproof.md#")]
        assert sum(count.findings for count in hunt.values()) == int(findings), engine
        assert (len(hunt) - len(own), len(own)) == (int(of_engines), int(of_the_stand)), engine
