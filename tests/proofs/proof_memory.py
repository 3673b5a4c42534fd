"""The memory of proofs: what Z3 answered is not asked again while nothing that the answer depends on changes.

An answer is kept under two keys. The first is a hash of every source file that a proof depends on, of the
versions of Z3, Python and the rules of time zones, and of the name of what is proved; it is made without
building a proof. The second is a hash of the questions themselves, letter by letter, so that after a change
only the proofs that the change reaches are run again. Answers that Z3 did not reach are not kept.

`SKIPPROOF_PROVE_ANEW=1` leaves the memory aside, and so does pytest without its cache directory.
"""

import functools
import hashlib
import importlib.metadata
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
import z3

from skipproof.proofs.prover import EFFORT, Failure, Proof

ANEW = "SKIPPROOF_PROVE_ANEW"
FOLDER = "skipproof-proofs"
ROOT = Path(__file__).parents[2]
_NO_WITNESS = {"claim": "", "decided": False, "detail": ""}
# Everything that a proof and its mutants are made of; a test sees that they import nothing else.
SOURCES = (
    "mutants/__init__.py",
    "mutants/rules",
    "oracles/__init__.py",
    "oracles/meaning",
    "oracles/symbolic",
    "pruning/__init__.py",
    "pruning/errors.py",
    "pruning/siblings.py",
    "pruning/expressions",
    "pruning/rules",
    "skipproof/__init__.py",
    "skipproof/proofs",
)


@dataclass(frozen=True, slots=True)
class ProofMemory:
    """Answers of Z3, a small file for each key.

    Attributes:
        folder: Where the files are; None remembers nothing.
        surroundings: A hash of all that answers depend on but the question.
        sources: A hash of the source files.
    """

    folder: Path | None
    surroundings: str
    sources: str

    def failures(self, name: str, proof: Proof) -> list[Failure]:
        """Return the claims that are not proved, as `Proof.failures` does.

        Args:
            name: What is proved; another subject, mutant or kind of question has another name.
        """
        answer = self._answer(f"failures of {name}", proof, lambda: list(map(asdict, proof.failures())))
        return [Failure(**failure) for failure in answer]

    def refutation(self, name: str, proof: Proof, *, effort: int = EFFORT) -> Failure | None:
        """Return the first claim that is refuted, as `Proof.refutation` does.

        Args:
            name: As of `failures`.
        """

        def ask() -> list[dict[str, Any]]:
            failure = proof.refutation(effort=effort)
            # That there is no witness is not kept: more effort might find one.
            return [_NO_WITNESS] if failure is None else [asdict(failure)]

        (answer,) = self._answer(f"refutation of {name}", proof, ask)
        return None if answer == _NO_WITNESS else Failure(**answer)

    def _answer(
        self, name: str, proof: Proof, ask: Callable[[], list[dict[str, Any]]]
    ) -> list[dict[str, Any]]:
        by_sources = _hash(self.surroundings, self.sources, name)
        answer = self._read(by_sources)
        if answer is None:
            kind = name.partition(" of ")[0]
            by_question = _hash(self.surroundings, kind, proof.fingerprint())
            answer = self._read(by_question)
            if answer is None:
                answer = ask()
                self._keep(by_question, answer)
            self._keep(by_sources, answer)
        return answer

    def _read(self, key: str) -> list[dict[str, Any]] | None:
        if self.folder is None:
            return None
        try:
            text = (self.folder / key).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        answer: list[dict[str, Any]] = json.loads(text)
        return answer

    def _keep(self, key: str, answer: list[dict[str, Any]]) -> None:
        """Write a file whole; another process may write or read the same one."""
        if self.folder is None or not all(failure["decided"] for failure in answer):
            return
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=self.folder, delete=False) as file:
            json.dump(answer, file)
        os.replace(file.name, self.folder / key)


def _hash(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def surroundings() -> str:
    """The versions of Z3, of Python and of the rules of time zones."""
    return json.dumps([z3.get_full_version(), sys.version, importlib.metadata.version("tzdata")])


@functools.cache
def sources_hash(root: Path = ROOT) -> str:
    """A hash of the names and contents of the source files of proofs."""
    digest = hashlib.sha256()
    for file in source_files(root):
        digest.update(json.dumps(str(file.relative_to(root))).encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def source_files(root: Path = ROOT) -> Iterator[Path]:
    """The source files of proofs, in order."""
    for name in SOURCES:
        place = root / name
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def memory_of(config: pytest.Config) -> ProofMemory:
    """Return the memory in pytest's cache directory; one that remembers nothing where it is not wanted."""
    cache = getattr(config, "cache", None)
    is_wanted = cache is not None and not os.environ.get(ANEW)
    folder = Path(cache.mkdir(FOLDER)) if is_wanted else None
    return ProofMemory(folder, surroundings(), sources_hash())
