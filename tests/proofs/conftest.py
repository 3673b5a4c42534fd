"""The memory of proofs, one for a run."""

import pytest
from proof_memory import ProofMemory, memory_of


@pytest.fixture(scope="session")
def proof_memory(pytestconfig: pytest.Config) -> ProofMemory:
    """The answers of Z3 that are remembered from earlier runs."""
    return memory_of(pytestconfig)
