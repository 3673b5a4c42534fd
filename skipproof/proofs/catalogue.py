"""The rules and families that can be proved, by the names that users write, and what each rule states."""

import difflib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pruning.errors import InputError
from pruning.expressions.function_groups import ARRAY_FUNCTIONS
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Element, Function, In, IsNull, Quantified
from pruning.rules.analysis.evaluation import Rule, RuleKey, rule_key
from pruning.rules.compile.table import RULES
from skipproof.proofs.subjects.table import SUBJECTS

NEAR_NAMES_MAX = 3
_NEAR_NAME_LIKENESS = 0.5
# The families that are not named as the modules that hold their rules, by the module or by the rule.
_FAMILIES_OF_RULES: Mapping[RuleKey, str] = {
    Element: "quantifiers",
    In: "membership",
    IsNull: "null_test",
    Quantified: "quantifiers",
    **dict.fromkeys(ARRAY_FUNCTIONS, "quantifiers"),
}
_FAMILIES = {
    "casts": "cast",
    "evaluation": "leaves",
    "months": "time",
    "text_functions": "text",
    "time_fields": "fields",
    "time_functions": "time",
}
_HEADING = re.compile(r"^(Claim|Premises|Proof|Unsound) {2,}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Selection:
    """The proofs of a rule, of a family, or of all.

    Attributes:
        title: A name for all of it.
        subjects: Families and names of subjects, in the order of the table.
        rules: The rules of which these are the proofs.
    """

    title: str
    subjects: tuple[tuple[str, str], ...]
    rules: tuple[RuleKey, ...]


@dataclass(frozen=True, slots=True)
class RuleStatement:
    """The claim of one part of a rule, and what it relies on.

    Attributes:
        part: The part: `range`, `may`, `assume`, ...
        claim: What it claims; its first sentence, where it has no heading.
        premises: What it relies on; empty where nothing is named.
    """

    part: str
    claim: str
    premises: str


def rule_name(key: RuleKey) -> str:
    """The name of a rule: that of the SQL function, or of the class of expressions in small letters."""
    if isinstance(key, Function):
        return key.value
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key.__name__).lower()


RULE_NAMES: Mapping[str, RuleKey] = {rule_name(key): key for key in RULES}


def family_of(key: RuleKey) -> str:
    """The family of a rule."""
    rule = RULES[key]
    parts = (rule.range, rule.may, rule.assume, rule.constrain, rule.outcomes, rule.may_lie)
    (module,) = {part.__module__.rpartition(".")[2] for part in parts if part is not None}
    return _FAMILIES_OF_RULES.get(key, _FAMILIES.get(module, module))


def select(name: str | None) -> Selection:
    """Return what a name stands for: a family, a rule, one subject as FAMILY: SUBJECT; without one, all.

    Raises:
        InputError: nothing has the name; the sentence has the names that are near it.
    """
    if name is None:
        subjects = tuple((family, subject) for family in SUBJECTS for subject in SUBJECTS[family])
        return Selection("all rules", subjects, tuple(RULES))
    written = name.strip().lower().replace("-", "_")
    if written in SUBJECTS:
        rules = tuple(key for key in RULES if family_of(key) == written)
        return Selection(
            f"family {written}", tuple((written, subject) for subject in SUBJECTS[written]), rules
        )
    if written in RULE_NAMES:
        return _of_rule(RULE_NAMES[written])
    family, colon, subject = (part.strip() for part in name.partition(":"))
    if colon and subject in SUBJECTS.get(family, {}):
        keys = {rule_key(node) for node in walk(SUBJECTS[family][subject])}
        rules = tuple(key for key in RULES if key in keys and family_of(key) == family)
        return Selection(f"{family}: {subject}", ((family, subject),), rules)
    raise InputError(f"No rule is named {name!r}: {_advice(name, written)}")


def _of_rule(key: RuleKey) -> Selection:
    family = family_of(key)
    subjects = tuple(
        (family, subject)
        for subject, expression in SUBJECTS[family].items()
        if any(rule_key(node) == key for node in walk(expression))
    )
    return Selection(f"rule {rule_name(key)}, of the family {family}", subjects, (key,))


def _advice(name: str, written: str) -> str:
    subjects = [f"{family}: {subject}" for family in SUBJECTS for subject in SUBJECTS[family]]
    names = subjects if ":" in name else sorted({*SUBJECTS, *RULE_NAMES})
    near = difflib.get_close_matches(
        name if ":" in name else written, names, n=NEAR_NAMES_MAX, cutoff=_NEAR_NAME_LIKENESS
    )
    if near:
        return f"near it are {', '.join(near)}."
    return f"the families are {', '.join(SUBJECTS)}."


def statements(key: RuleKey) -> Iterator[RuleStatement]:
    """The claims and premises that the parts of a rule state in their documentation."""
    rule: Rule = RULES[key]
    for part in ("range", "may", "assume", "constrain", "outcomes", "may_lie", "preimage"):
        function = getattr(rule, part)
        text = inspect.getdoc(function) if function is not None else None
        if text:
            yield _statement(part, text)


def _statement(part: str, text: str) -> RuleStatement:
    summary, *_ = text.split("\n\n")
    pieces = _HEADING.split(text)
    headed = {
        heading: " ".join(body.split()) for heading, body in zip(pieces[1::2], pieces[2::2], strict=True)
    }
    claim = headed.get("Claim", " ".join(summary.split()))
    return RuleStatement(part, claim, headed.get("Premises", ""))
