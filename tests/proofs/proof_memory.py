"""The memory of proofs: a question that Z3 has answered is not put to it again.

`remembered_proofs.txt` has a line for each question: a hash of its text, letter by letter, and of the
release of Z3. A rule, an axiom, a premise or a subject that changes asks another question, which Z3 answers
anew. Only two answers are remembered: that every claim holds, and that a mutant has a witness.

`make proofs` runs every proof and writes the file; `SKIPPROOF_PROVE_ANEW=1` leaves the memory aside, as
continuous integration does.
"""

import hashlib
import json
import os
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

import z3

from skipproof.proofs.prover import EFFORT, Failure, Proof

ANEW = "SKIPPROOF_PROVE_ANEW"
WRITTEN = "SKIPPROOF_WRITE_PROOFS"
FILE = Path(__file__).with_name("remembered_proofs.txt")


@dataclass(frozen=True, slots=True)
class ProofMemory:
    """Answers of Z3.

    Attributes:
        keys: Of the questions that were answered as a test wants.
        release: Z3's.
        key_file: The file to append the key of each such question to, whether it was remembered or asked;
            None for none.
    """

    keys: Set[str]
    release: str
    key_file: Path | None = None

    def failures(self, proof: Proof) -> list[Failure]:
        """Return the claims that are not proved, as `Proof.failures` does."""
        key = self._key("proved", proof)
        failures = [] if key in self.keys else proof.failures()
        if not failures:
            self._write(key)
        return failures

    def is_refuted(self, proof: Proof, *, effort: int = EFFORT) -> bool:
        """Tell whether a claim has a witness against it, as `Proof.refutation` finds one."""
        key = self._key("refuted", proof)
        answer = key in self.keys or proof.refutation(effort=effort) is not None
        if answer:
            self._write(key)
        return answer

    def _key(self, answer: str, proof: Proof) -> str:
        parts = [self.release, answer, proof.fingerprint()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    def _write(self, key: str) -> None:
        """Append a line in one write, so that workers may share the file."""
        if self.key_file is not None:
            with self.key_file.open("a", encoding="ascii") as file:
                file.write(f"{key}\n")


def read_memory() -> ProofMemory:
    """Return the memory as the environment wants it."""
    written = os.environ.get(WRITTEN)
    keys = frozenset() if os.environ.get(ANEW) else frozenset(FILE.read_text(encoding="ascii").split())
    return ProofMemory(keys, z3.get_full_version(), Path(written) if written else None)
