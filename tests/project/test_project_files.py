"""The files around the code: changelog, citation, templates, and the workflow of continuous integration."""

import configparser
import datetime
import os
import re
import shutil
import subprocess
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from pruning.requirements import PYSPARK_END, PYSPARK_FIRST
from skipproof.java import VERSIONS

yaml = pytest.importorskip("yaml", reason="reads the files; the group `tests` of pyproject.toml has PyYAML")

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
# In the order in which a release has them.
GROUPS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
ENTRY_CHARACTERS_MAX = 150
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})$")


def read_yaml(path: Path) -> Any:
    """The content of a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def changelog() -> list[str]:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()


def releases() -> list[tuple[Version, datetime.date]]:
    """The releases of the changelog, in its order."""
    headings = [RELEASE.match(line) for line in changelog()]
    return [(Version(found[1]), datetime.date.fromisoformat(found[2])) for found in headings if found]


def workflow() -> Any:
    return read_yaml(GITHUB / "workflows" / "ci.yml")


def steps(job: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = workflow()["jobs"][job]["steps"]
    return steps


def tox() -> configparser.ConfigParser:
    """The environments of tox.ini."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", encoding="utf-8")
    return parser


def tox_pairs() -> list[tuple[str, str]]:
    """The pairs of Python and Spark that tox tests, as ("311", "40")."""
    listed = tox()["tox"]["env_list"]
    [(pythons, sparks)] = re.findall(r"py\{([\d,]+)\}-spark\{([\d,]+)\}", listed)
    return [*product(pythons.split(","), sparks.split(",")), *re.findall(r"\bpy(\d+)-spark(\d+)\b", listed)]


def test_each_release_has_a_date_and_newer_ones_come_first() -> None:
    headings = [line for line in changelog() if line.startswith("## ")]
    assert headings[0] == "## Unreleased"
    assert len(headings) == 1 + len(releases())
    assert releases() == sorted(releases(), reverse=True)


def test_each_entry_of_the_changelog_is_one_line_in_a_group() -> None:
    group = None
    for line in changelog()[changelog().index("## Unreleased") :]:
        if line.startswith("## "):
            group = None
        elif line.startswith("### "):
            group = line.removeprefix("### ")
            assert group in GROUPS
        elif line.startswith("- "):
            assert group is not None, line
            assert len(line) <= ENTRY_CHARACTERS_MAX, line
        # What else a line may be: the heading of some entries, or a paragraph right below a release.
        elif line and group is not None:
            assert re.fullmatch(r"\*\*[^*]+\*\*", line), line


def test_the_groups_of_a_release_stand_in_one_order_and_none_is_there_twice() -> None:
    for release in "\n".join(changelog()).split("\n## ")[1:]:
        groups = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert groups == [name for name in GROUPS if name in groups]


def test_the_newest_release_has_the_version_and_date_of_the_citation_and_the_package() -> None:
    citation = read_yaml(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version, date = releases()[0]
    assert str(version) == citation["version"] == project["version"]
    assert citation["date-released"] == date
    assert (citation["title"], citation["license"]) == (project["name"], project["license"])


def test_the_releases_of_the_compatibility_policy_are_those_that_are_accepted_and_tested() -> None:
    page = (ROOT / "docs" / "COMPATIBILITY.md").read_text(encoding="utf-8")
    rows = {
        name: [re.findall(r"\d+(?:\.\d+)?", cell) for cell in cells.split("|")]
        for name, cells in re.findall(r"^\| (Python|PySpark|Java|pyarrow) \| (.+) \|$", page, re.MULTILINE)
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = "\n".join([*project["classifiers"], *project["dependencies"]])
    assert rows["Python"][0] == re.findall(r"Python :: (3\.\d+)", named)
    assert rows["pyarrow"][0] == re.findall(r"^pyarrow>=(\d+)$", named, re.MULTILINE)
    assert rows["Java"][0] == [str(version) for version in VERSIONS]
    accepted = [".".join(map(str, release)) for release in (PYSPARK_FIRST, PYSPARK_END)]
    assert [Version(text) for text in rows["PySpark"][0]] == [Version(text) for text in accepted]
    assert rows["PySpark"][1] == sorted({f"{spark[0]}.{spark[1]}" for _, spark in tox_pairs()})
    assert project["optional-dependencies"]["spark"] == [f"pyspark>={accepted[0]},<{PYSPARK_END[0]}"]


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_asks_each_question_once_and_some_must_be_answered(form: Path) -> None:
    content = read_yaml(form)
    assert {"name", "description", "body"} <= set(content)
    questions = [field for field in content["body"] if field["type"] != "markdown"]
    identifiers = [field["id"] for field in questions]
    labels = [field["attributes"]["label"] for field in questions]
    assert len(set(identifiers)) == len(set(labels)) == len(questions)
    assert any(field.get("validations", {}).get("required") for field in questions)


def test_the_workflow_may_only_read_and_a_newer_commit_cancels_its_run() -> None:
    content = workflow()
    assert content["permissions"] == {"contents": "read"}
    assert content["concurrency"]["cancel-in-progress"] is True
    assert "github.ref" in content["concurrency"]["group"]
    for name, job in content["jobs"].items():
        assert "permissions" not in job, name
        assert job["timeout-minutes"] > 0, name


def test_the_actions_of_the_workflow_are_pinned_by_major_version() -> None:
    used = [step["uses"] for job in workflow()["jobs"] for step in steps(job) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[\w-]+@v\d+", action)] == []


def test_the_workflow_tests_each_pair_of_python_and_spark_that_tox_has() -> None:
    matrix = workflow()["jobs"]["tests"]["strategy"]["matrix"]
    pairs = [*product(matrix["python"], matrix["spark"])]
    pairs += [(extra["python"], extra["spark"]) for extra in matrix["include"]]
    run = [f"py{python}-spark{spark}".replace(".", "") for python, spark in pairs]
    assert sorted(run) == sorted(f"py{python}-spark{spark}" for python, spark in tox_pairs())


def test_the_workflow_runs_every_command_of_make_lint() -> None:
    """Otherwise a change could pass one and fail the other."""
    recipe = re.search(
        r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert recipe is not None
    wanted = {line.strip().removeprefix("@").removeprefix("$(BIN)/") for line in recipe[1].splitlines()}
    environments = {
        name
        for job in workflow()["jobs"]
        for step in steps(job)
        for names in re.findall(r"^tox -e ([\w,]+)$", step.get("run", ""), re.MULTILINE)
        for name in names.split(",")
    }
    run = {
        line.strip()
        for name in environments
        for line in tox()[f"testenv:{name}"]["commands"].splitlines()
        if line.strip()
    }
    assert wanted <= run


@pytest.mark.skipif(None in (shutil.which("git"), shutil.which("bash")), reason="needs git and bash")
@pytest.mark.parametrize(
    ("title", "body", "complaint"),
    [
        pytest.param("ü" * 72, "Why.", None, id="good"),
        pytest.param("ü" * 73, "Why.", "the title has 73 characters, more than 72", id="long"),
        pytest.param("Short", "", "the commit has no body that says why", id="bare"),
    ],
)
def test_the_workflow_refuses_a_long_title_and_a_missing_body(
    tmp_path: Path, title: str, body: str, complaint: str | None
) -> None:
    """The shell of the workflow, run on a repository of two commits."""
    [step] = [step for step in steps("titles") if "run" in step]
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{f"GIT_{role}_{part}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": step["env"]["LC_ALL"],
    }

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), *arguments]
        return subprocess.run(
            command, env=variables, check=True, capture_output=True, encoding="utf-8"
        ).stdout.strip()

    git("init")
    git("commit", "--allow-empty", "-m", "x" * 80)
    base = git("rev-parse", "HEAD")
    git("commit", "--allow-empty", "-m", f"{title}\n\n{body}")
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=tmp_path,
        env={**variables, "BASE": base, "HEAD": git("rev-parse", "HEAD")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == (0 if complaint is None else 1)
    assert done.stdout.count("\n") == (0 if complaint is None else 1)
    assert complaint is None or complaint in done.stdout
