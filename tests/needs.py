"""What some tests need that an environment may lack."""

import pytest

from pruning.metadata.coverings import available

needs_s2 = pytest.mark.skipif(not available(), reason="needs the package s2geometry")
