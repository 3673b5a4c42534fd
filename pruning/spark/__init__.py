"""Spark's side: Catalyst plans in, rewritten plans out.

Raises:
    MissingPackage: on import, where there is no PySpark of a supported release.
"""

from pruning.requirements import require_pyspark

require_pyspark()
