"""Makes mutants: copies of a module with one small thing wrong in each. Pure: source text in, source texts out.

Never touches what a test cannot be asked to notice: annotations, docstrings, the words of an error, struct options, `__all__`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
}


class Mutant(NamedTuple):
    line: int
    what: str
    """What was changed, as a person would say it."""
    source: str


class Change(NamedTuple):
    line: int
    what: str
    apply: Callable[[], None]
    """Changes the tree it was made from, in place."""


def mutants_of(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its lines. Formatting and comments are not kept."""
    count = len(list(changes(ast.parse(source))))
    for at in range(count):
        tree = ast.parse(source)
        change = list(changes(tree))[at]
        change.apply()
        yield Mutant(change.line, change.what, ast.unparse(ast.fix_missing_locations(tree)))


def changes(tree: ast.Module) -> Iterator[Change]:
    for statement in _statements(tree.body):
        yield from _statement_changes(statement)
        for node in _expressions(statement):
            yield from _expression_changes(node)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
            continue
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, []))
        for branch in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(branch.body)


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement holds itself, without those of statements inside it and without types and words."""
    roots: list[ast.expr | None]
    match statement:
        case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
            roots = [*args.defaults, *args.kw_defaults]
        case ast.AnnAssign(value=value):
            roots = [value]
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.ClassDef() | ast.Raise():
            roots = []
        case ast.Match(subject=subject, cases=cases):
            roots = [subject, *(case.guard for case in cases)]
        case _:
            roots = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
            roots += [item.context_expr for item in getattr(statement, "items", ())]
    for root in roots:
        yield from (node for node in ast.walk(root) if isinstance(node, ast.expr)) if root is not None else ()


def _statement_changes(statement: ast.stmt) -> Iterator[Change]:
    match statement:
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare | ast.Constant):
            yield Change(statement.lineno, "condition turned round", partial(setattr, statement, "test", _not(test)))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield Change(statement.lineno, "returns None", partial(setattr, statement, "value", ast.Constant(None)))
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield Change(statement.lineno, "left out", partial(setattr, statement, "value", ast.Constant(None)))
        case ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield _swap_operator(statement, op)


def _expression_changes(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                other = COMPARISONS[type(op)]
                yield Change(node.lineno, _renamed(op, other), partial(ops.__setitem__, at, other()))
        case ast.BoolOp(op=ast.And()):
            yield Change(node.lineno, "and to or", partial(setattr, node, "op", ast.Or()))
        case ast.BoolOp(op=ast.Or()):
            yield Change(node.lineno, "or to and", partial(setattr, node, "op", ast.And()))
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            yield _swap_operator(node, op)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Change(node.lineno, "not left out", partial(setattr, node, "operand", _not(operand)))
        case ast.IfExp(test=test):
            yield Change(node.lineno, "condition turned round", partial(setattr, node, "test", _not(test)))
        case ast.Constant(value=bool() as value):
            yield Change(node.lineno, f"{value} to {not value}", partial(setattr, node, "value", not value))
        case ast.Constant(value=int() as number):
            yield Change(node.lineno, f"{number} to {number + 1}", partial(setattr, node, "value", number + 1))


def _swap_operator(node: ast.BinOp | ast.AugAssign, op: ast.operator) -> Change:
    other = OPERATORS[type(op)]
    return Change(node.lineno, _renamed(op, other), partial(setattr, node, "op", other()))


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _renamed(old: ast.AST, new: type[ast.AST]) -> str:
    return f"{type(old).__name__} to {new.__name__}"
