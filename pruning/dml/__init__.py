"""Statements that change rows: the blocks that DELETE, UPDATE and MERGE rewrite, drop or leave alone."""

from pruning.dml.plans import MergeClause, RewritePlan, plan_delete, plan_merge, plan_update
from pruning.techniques.dml.rewriting import Fate, Then, When

__all__ = ["Fate", "MergeClause", "RewritePlan", "Then", "When", "plan_delete", "plan_merge", "plan_update"]
