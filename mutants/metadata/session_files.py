"""Ways to list and read by a session that are wrong in one way each."""

from collections.abc import Mapping

from mutants.replacements import Replacement
from pruning.metadata.store import collecting
from pruning.spark.lake import hadoop_files
from pruning.spark.lake.hadoop_files import HadoopFiles

MUTANTS: Mapping[str, Replacement] = {
    "hidden names are data": Replacement(hadoop_files, "is_data", bool),
    "every file is Parquet": Replacement(HadoopFiles, "is_parquet", lambda self, listed: True),
    "what cannot be listed is empty": Replacement(hadoop_files, "_ABSENT", ("?", "!")),
    "nothing is kept": Replacement(collecting, "kept_shards", lambda *_: []),
}
