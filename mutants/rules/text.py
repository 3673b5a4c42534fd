"""Mistakes in the rules of text."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mutants.rules.rule_mutant import MutantRows, RuleMutant, mutants_of_family
from pruning.expressions import trees
from pruning.expressions.trees import Contains, EndsWith, Expression, Function, Like, RLike, StartsWith
from pruning.expressions.types import STRING
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.compile.table import RULES
from pruning.rules.families import patterns, text_functions
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import Outcomes, ValueSet
from pruning.rules.text import like_patterns


def _prefix_ends_at_itself(analysis: Analysis, node: Any) -> Outcomes:
    """Takes the prefix for the greatest string that has it."""
    only = ValueSet(cuts.of_values([node.prefix], trees.type_of(node.operand)))
    return replace(patterns.starts_with(analysis, node), true=only)


def _like_is_its_prefix(analysis: Analysis, node: Any) -> Outcomes:
    """Takes every string with the prefix for a match, whatever follows."""
    prefix, _ = like_patterns.prefix(node.pattern, node.escape)
    return patterns.starts_with(analysis, StartsWith(node.operand, prefix))


def _one_character_is_any_number(analysis: Analysis, node: Any) -> Outcomes:
    """Takes `_` for `%`, so that nothing with the prefix fails."""
    return patterns.like(analysis, replace(node, pattern=node.pattern.replace(b"_", b"%")))


def _suffix_is_the_text(analysis: Analysis, node: Any) -> Outcomes:
    """Takes the suffix for all of the text."""
    only = ValueSet(cuts.of_values([node.suffix], STRING))
    return replace(patterns.ends_with(analysis, node), true=only)


def _part_is_a_prefix(analysis: Analysis, node: Any) -> Outcomes:
    """Takes the part to stand at the start."""
    having = patterns.starts_with(analysis, StartsWith(node.operand, node.part))
    return replace(patterns.contains(analysis, node), true=having.true)


def _match_begins_the_text(analysis: Analysis, node: Any) -> Outcomes:
    """Takes a match anywhere for one at the start."""
    return patterns.rlike(analysis, replace(node, pattern=b"^" + node.pattern))


def _itself(node: Any, values: ValueSet) -> tuple[Expression, ValueSet]:
    """Takes the function for one that changes nothing."""
    return node.operands[0], values


def _not_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A function of a text that is never NULL."""
    return ranges.not_null(analysis.build, text_functions.unknown_range(analysis, node, environment))


def _below_its_operand(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Takes an appended text to leave the order as it is: s || t at most s's upper bound."""
    known = text_functions.lengthened_range(analysis, node, environment)
    first = analysis.range(node.operands[0], environment)
    return ranges.within(analysis.build, known, known.lower, first.upper)


def _start_keeps_the_lower_bound(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A start of a text taken to be at least the text's lower bound."""
    known = text_functions.shortened_range(analysis, node, environment)
    return ranges.within(
        analysis.build, known, analysis.range(node.operands[0], environment).lower, known.upper
    )


def _never_empty(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A length of at least 1; the empty text has none."""
    build = analysis.build
    known = text_functions.length_range(analysis, node, environment)
    return ranges.within(build, known, build.bound(1, node.type), known.upper)


PATTERNS: MutantRows = {
    "prefix end": (StartsWith, Rule(outcomes=_prefix_ends_at_itself), "startswith"),
    "LIKE as its prefix": (Like, Rule(outcomes=_like_is_its_prefix), "LIKE prefix and more"),
    "_ as %": (Like, Rule(outcomes=_one_character_is_any_number), "LIKE one character"),
    "suffix is all": (EndsWith, Rule(outcomes=_suffix_is_the_text), "endswith"),
    "part is a prefix": (Contains, Rule(outcomes=_part_is_a_prefix), "contains"),
    "match begins the text": (RLike, Rule(outcomes=_match_begins_the_text), "RLIKE anywhere"),
}

# The rule of a function, with one part of it replaced.
FUNCTIONS: Mapping[str, tuple[Function, dict[str, Any], str]] = {
    "upper changes nothing": (Function.UPPER, {"preimage": _itself}, "upper ="),
    "lower changes nothing": (Function.LOWER, {"preimage": _itself}, "lower IN"),
    "trim changes nothing": (Function.TRIM, {"preimage": _itself}, "trim ="),
    "ltrim changes nothing": (Function.LTRIM, {"preimage": _itself}, "ltrim <"),
    "rtrim from below": (Function.RTRIM, {"range": _start_keeps_the_lower_bound}, "rtrim"),
    "left from below": (Function.SUBSTRING, {"range": _start_keeps_the_lower_bound}, "left"),
    "right changes nothing": (Function.SUBSTRING, {"preimage": _itself}, "right ="),
    "concat below its start": (Function.CONCAT, {"range": _below_its_operand}, "concat"),
    "length never 0": (Function.LENGTH, {"range": _never_empty}, "length"),
    "rpad never NULL": (Function.RPAD, {"range": _not_null}, "rpad"),
    "lpad never NULL": (Function.LPAD, {"range": _not_null}, "lpad"),
    "lpad changes nothing": (Function.LPAD, {"preimage": _itself}, "lpad ="),
    "replace changes nothing": (Function.REPLACE, {"preimage": _itself}, "replace ="),
    "substring_index changes nothing": (Function.SUBSTRING_INDEX, {"preimage": _itself}, "substring_index ="),
    "instr never 0": (Function.INSTR, {"range": _never_empty}, "instr"),
    "rpad changes nothing": (Function.RPAD, {"preimage": _itself}, "rpad ="),
}

MUTANTS: Mapping[str, RuleMutant] = {
    **mutants_of_family("patterns", PATTERNS),
    **mutants_of_family(
        "text",
        {
            name: (function, replace(RULES[function], **change), subject)
            for name, (function, change, subject) in FUNCTIONS.items()
        },
    ),
}
