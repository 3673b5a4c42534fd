"""Ways to read lakes that are not local that are wrong in one way each."""

from collections.abc import Mapping

from mutants.replacements import Replacement
from pruning.metadata.footers.footer import TRAILER_BYTES
from pruning.metadata.store import recording
from pruning.spark.lake import hadoop_files

MUTANTS: Mapping[str, Replacement] = {
    "escapes are part of names": Replacement(hadoop_files, "unquote", str),
    "no file has changed": Replacement(hadoop_files, "changed_files", lambda listed_files, stamps: {}),
    "a young time in whole seconds is an identity": Replacement(
        recording, "may_change_unseen", lambda listed, now_ns: False
    ),
    "all of a file's end is its footer": Replacement(
        hadoop_files, "footer_length", lambda file, tail, size: len(tail) - TRAILER_BYTES + 1
    ),
}
