"""The memory of proofs, one for a run."""

import pytest
from proof_memory import ProofMemory, read_memory


@pytest.fixture(scope="session")
def proof_memory() -> ProofMemory:
    """The answers of Z3 that are remembered from earlier runs."""
    return read_memory()
