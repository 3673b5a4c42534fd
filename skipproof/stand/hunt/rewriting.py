"""Other forms of a question, each without one thing that an engine may handle wrongly.

Forms of conditions mean the same in SQL; a part of a question that is left out changes its meaning. The
answer to each form is judged by itself, so that nothing depends on what they mean.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from skipproof.stand.hunt.shrinking import with_terms
from strategies.engines.engine_values import integer_range
from strategies.engines.questions import Call, Column, Literal, Question, Relation, Subquery, Term, subterms

_NEGATIONS = {
    "<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "=", "is null": "is not null",
    "is not null": "is null", "is distinct from": "is not distinct from",
    "is not distinct from": "is distinct from", "and": "or", "or": "and",
}  # fmt: skip
_NULL_TESTS = {"is distinct from": "is not null", "is not distinct from": "is null"}
_SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
# Longer lists stay, because an OR of so many parts is another question to most engines.
_MEMBERS_MAX = 50
FILTER_ALONE = "its filter alone"
NO_NULL_CONSTANT = "no NULL among constants"


def expression_forms(question: Question) -> Iterator[tuple[str, Question]]:
    """Yield the question with other forms of its expressions, each with its name."""
    for name, rule in (
        ("OR of = instead of IN", _in_as_or),
        ("two comparisons instead of BETWEEN", _between_as_two),
        ("NOT pushed in", _not_pushed_in),
        ("operands swapped", _swap_operands),
        ("CAST of what fits instead of TRY_CAST", _try_cast_as_cast),
        (NO_NULL_CONSTANT, _without_null_constant),
    ):
        yield name, _apply(question, rule)
    for function in dict.fromkeys(_functions(question)):
        yield f"a column instead of {function}", _select_keys(_apply(question, _column_for(function)))


def simpler_questions(question: Question) -> Iterator[tuple[str, Question]]:
    """Yield the question without one part, each with its name."""
    yield "asked once", replace(question, repeat=1)
    yield "asked without parameters", replace(question, prepared=False)
    yield "without OFFSET", replace(question, offset=0)
    yield "without LIMIT", replace(question, limit=None, offset=0)
    yield "without ORDER BY", replace(question, order=())
    yield "without HAVING", replace(question, having=None)
    yield "without the window", replace(question, window=None)
    yield "without LIMIT of a relation", replace(question, source=_drop_limit(question))
    if question.area not in ("filter", "subquery", "dml") and question.source.where is not None:
        yield FILTER_ALONE, filter_alone(question)


def filter_alone(question: Question) -> Question:
    """Return the question for the columns that the filter of the first relation reads."""
    assert question.source.where is not None
    columns = [part.name for part in subterms(question.source.where) if isinstance(part, Column)]
    source = replace(_drop_limit(question), distinct=None)
    select = tuple(dict.fromkeys(columns)) or question.select
    return Question(area="filter", source=source, select=select, prepared=question.prepared)


def _drop_limit(question: Question) -> Relation:
    """Return the first relation without its order and LIMIT."""
    return replace(question.source, limit=None, offset=0, order=())


def _select_keys(question: Question) -> Question:
    """Return the question with the columns that it orders by in its answer, which shows the order by them."""
    keys = (key.by.name for key in question.order if isinstance(key.by, Column))
    missing = tuple(name for name in dict.fromkeys(keys) if name not in question.answer_columns)
    return replace(question, select=(*question.select, *missing))


def _apply(question: Question, rule: Callable[[Term], Term]) -> Question:
    """Return a question with a rule applied to each expression, inner ones first."""

    def of_term(term: Term) -> Term:
        if isinstance(term, Call):
            term = replace(term, of=tuple(map(of_term, term.of)))
        if isinstance(term, Subquery):
            relation = term.relation
            where = None if relation.where is None else of_term(relation.where)
            operand = None if term.operand is None else of_term(term.operand)
            return replace(term, relation=replace(relation, where=where), operand=operand)
        return rule(term)

    return with_terms(question, of_term)


def _in_as_or(term: Term) -> Term:
    """Return IN over a list as OR of comparisons."""
    if not isinstance(term, Call) or term.function != "in" or len(term.of) > _MEMBERS_MAX:
        return term
    parts = tuple(Call("=", (term.of[0], member)) for member in term.of[1:])
    return parts[0] if len(parts) == 1 else Call("or", parts)


def _between_as_two(term: Term) -> Term:
    """Return BETWEEN as two comparisons."""
    if not isinstance(term, Call) or term.function != "between":
        return term
    value, lower, upper = term.of
    return Call("and", (Call(">=", (value, lower)), Call("<=", (value, upper))))


def _not_pushed_in(term: Term) -> Term:
    """Return NOT of a test as the opposite test."""
    if not isinstance(term, Call) or term.function != "not":
        return term
    (inner,) = term.of
    if not isinstance(inner, Call):
        return term
    if inner.function == "not":
        return inner.of[0]
    if inner.function not in _NEGATIONS:
        return term
    parts = inner.of
    if inner.function in ("and", "or"):
        parts = tuple(_not_pushed_in(Call("not", (part,))) for part in parts)
    return Call(_NEGATIONS[inner.function], parts)


def _swap_operands(term: Term) -> Term:
    """Return a comparison with its operands swapped."""
    if not isinstance(term, Call) or term.function not in _SWAPPED:
        return term
    return Call(_SWAPPED[term.function], term.of[::-1])


def _try_cast_as_cast(term: Term) -> Term:
    """Return TRY_CAST between integer types as CAST, with NULL instead of values that do not fit."""
    if not isinstance(term, Call) or term.function != "try cast":
        return term
    (value,) = term.of
    if not all(type_.startswith(("int", "uint")) for type_ in (value.type, term.type)):
        return term
    low, high = integer_range(term.type)
    least, greatest = integer_range(value.type)
    if low <= least and greatest <= high:
        return Call("cast", (value,), term.type)
    bounds = Literal(max(low, least), value.type), Literal(min(high, greatest), value.type)
    fitting = Call("if", (Call("between", (value, *bounds)), value, Literal(None, value.type)), value.type)
    return Call("cast", (fitting,), term.type)


def _without_null_constant(term: Term) -> Term:
    """Return a test without the NULL among its constants; where that leaves nothing to test, FALSE."""
    if isinstance(term, Literal):
        return Literal(False, "boolean") if _is_null(term) and term.type == "boolean" else term
    if not isinstance(term, Call) or term.type != "boolean" or not any(map(_is_null, term.of)):
        return term
    if term.function in _NULL_TESTS:
        return Call(_NULL_TESTS[term.function], tuple(part for part in term.of if not _is_null(part))[:1])
    members = tuple(member for member in term.of[1:] if not _is_null(member))
    if term.function == "in" and members and not _is_null(term.of[0]):
        return Call("in", (term.of[0], *members))
    return Literal(False, "boolean")


def _is_null(term: Term) -> bool:
    """Tell whether a term is the constant NULL."""
    return isinstance(term, Literal) and term.value is None


def _functions(question: Question) -> Iterator[str]:
    """Yield the functions whose calls have the type of a column in them."""
    for term in question.terms:
        for part in subterms(term):
            if isinstance(part, Call) and part.type != "boolean" and _column_in(part) is not None:
                yield part.function


def _column_for(function: str) -> Callable[[Term], Term]:
    """Return a rule that replaces calls of a function by a column in them."""

    def rule(term: Term) -> Term:
        if not isinstance(term, Call) or term.function != function or term.type == "boolean":
            return term
        column = _column_in(term)
        return term if column is None else column

    return rule


def _column_in(call: Call) -> Column | None:
    """Return a column in a call that has its type, or None."""
    columns = (part for part in subterms(call) if isinstance(part, Column))
    return next((column for column in columns if column.type == call.type), None)
