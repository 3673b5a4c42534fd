"""Build the distributions of a release and try the wheel as a user gets it: `make release-check`.

`python -m build` makes the source distribution and, from it, the wheel; `twine check` reads their metadata;
the wheel's files are compared with the sources. An environment outside the checkout then gets the wheel
alone, and after that the wheel with Spark, and runs commands on a Parquet table there. The distributions are
left in `dist`; the exit status is 1 if a step fails.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.wheel import ROOT, Environment, copy_sources, create_environment, wheel_problems

# Four row groups; the last alone holds rows that satisfy the query, which no bound of `a` says by itself.
WRITE_TABLE = """\
import pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({"a": range(4000)}), "t.parquet", row_group_size=1000)
"""
BLOCKS, BLOCKS_NEEDED = 4, 1
EXPLAIN = ("explain", "--json", "--table", "t=t.parquet", "SELECT * FROM t WHERE a + a > 7990")
USAGE = 2


class Failed(Exception):
    """A step of the check failed; the text says what came out instead."""


def main() -> None:
    """Run all steps; print each with its seconds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the distributions are left")
    dist = parser.parse_args().dist.resolve()
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="skipproof-release-") as temporary:
            names = check_release(Path(temporary), dist)
    except Failed as failure:
        sys.exit(f"release check failed: {failure}")
    print(f"{', '.join(names)} in {dist}: good after {time.monotonic() - began:.0f} s")


def check_release(directory: Path, dist: Path) -> list[str]:
    """Build, check and try the distributions, and copy them to `dist`; return their names.

    Args:
        directory: An empty directory to work in, outside the checkout.

    Raises:
        Failed: a step failed; `dist` is then as it was.
    """
    source, built, work = (directory / name for name in ("source", "built", "work"))
    copy_sources(source)
    with step("python -m build"):
        run_tool("build", "--outdir", str(built), str(source))
    distributions = sorted(built.iterdir())
    with step("twine check --strict"):
        run_tool("twine", "check", "--strict", *map(str, distributions))
    [wheel] = built.glob("*.whl")
    with step("files of the wheel"):
        problems = wheel_problems(wheel, source)
        if problems:
            raise Failed("\n".join(problems))
    work.mkdir()
    try_wheel(wheel, create_environment(directory / "environment"), work)
    dist.mkdir(parents=True, exist_ok=True)
    for distribution in distributions:
        shutil.copy(distribution, dist)
    return [distribution.name for distribution in distributions]


def try_wheel(wheel: Path, environment: Environment, work: Path) -> None:
    """Install the wheel, first alone and then with Spark, and run commands in the directory `work`.

    Raises:
        Failed: pip or a command failed, or a command printed something else than it should.
    """
    with step("install the wheel alone"):
        install(environment, str(wheel))
    with step("describe without PySpark"):
        output(environment, "-c", WRITE_TABLE, cwd=work)
        report = json.loads(
            output(environment, "describe", "--json", "t.parquet", cwd=work, program="skipproof")
        )
        expect("describe: blocks", report["blocks"], BLOCKS)
    with step("explain without PySpark"):
        refused = environment.run(*EXPLAIN, cwd=work, program="skipproof")
        expect("explain without PySpark: exit status", refused.returncode, USAGE)
        expect("explain without PySpark: lines of standard error", refused.stderr.count("\n"), 1)
    with step("install the wheel with [spark,java]"):
        install(environment, f"{wheel}[spark,java]")
    with step("explain"):
        report = json.loads(output(environment, *EXPLAIN, cwd=work, program="skipproof"))
        [scan] = report["scans"]
        expect("explain: blocks", (scan["blocks_total"], scan["blocks_kept"]), (BLOCKS, BLOCKS_NEEDED))


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print a step and, when it has passed, how long it took."""
    print(f"{title:<36}", end="", flush=True)
    began = time.monotonic()
    try:
        yield
    except Failed:
        print("failed", flush=True)
        raise
    print(f"{time.monotonic() - began:6.1f} s", flush=True)


def run_tool(module: str, *arguments: str) -> None:
    """Run a module of the environment that runs this check."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    successful_output(done)


def install(environment: Environment, requirement: str) -> None:
    """Install the wheel and what it depends on."""
    try:
        environment.install(requirement)
    except subprocess.CalledProcessError as error:
        raise Failed(f"pip install {requirement}:\n{error.stdout}{error.stderr}") from error


def output(environment: Environment, *arguments: str, cwd: Path, program: str = "python") -> str:
    """Run a program of the environment, which must succeed; return its standard output."""
    return successful_output(environment.run(*arguments, cwd=cwd, program=program))


def successful_output(done: subprocess.CompletedProcess[str]) -> str:
    """Return the standard output of a command, which must have succeeded."""
    if done.returncode != 0:
        command = " ".join(map(str, done.args))
        raise Failed(f"{command}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what: str, actual: object, expected: object) -> None:
    """Check that a command printed what it should."""
    if actual != expected:
        raise Failed(f"{what}: {actual} instead of {expected}")


if __name__ == "__main__":
    main()
