"""Real mutations of each bug class: small edits of a clean solution, one at a time.

They measure how strong the tests of a task are, and are what the scripted attacker plays. An edit
is a *candidate* bug only: some change nothing that the spec promises, and only the judge says so.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cligym.tasks.syntax_tree import parse_source
from cligym.tasks.tampering import BugClass

__all__ = ["Mutant", "mutants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edited solution.

    Attributes:
        bug_class: what kind of mistake it imitates.
        line: 1-based line of the edit in the *mutant's* source.
        words: the edit in words.
        source: the whole edited program.
    """

    bug_class: BugClass
    line: int
    words: str
    source: str


@dataclass(frozen=True, slots=True)
class _Edit:
    bug_class: BugClass
    words: str
    apply: Callable[[], None]


_BOUNDARIES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.FloorDiv,
    ast.FloorDiv: ast.Div,
}
_LOCK_WORDS = ("lock", "mutex", "guard", "changed", "free", "acquire", "_alone", "holding")


def mutants(source: str) -> list[Mutant]:
    """Every single edit of `source`, in a fixed order; none equals the original."""
    original = ast.unparse(parse_source(source))
    found: list[Mutant] = []
    seen = {original}
    index = 0
    while True:
        tree = parse_source(source)
        edits = list(_edits(tree))
        if index >= len(edits):
            return found
        edit, index = edits[index], index + 1
        edit.apply()
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text in seen or not _compiles(text):
            continue
        seen.add(text)
        found.append(
            Mutant(
                bug_class=edit.bug_class,
                line=_changed_line(original, text),
                words=edit.words,
                source=text + "\n",
            )
        )


def _edits(tree: ast.Module) -> Iterator[_Edit]:
    for parent in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                for place, statement in enumerate(block):
                    yield from _statement_edits(block, place, statement)
    for node in ast.walk(tree):
        yield from _expression_edits(node)


def _statement_edits(block: list[ast.stmt], place: int, node: ast.stmt) -> Iterator[_Edit]:
    where = f"line {node.lineno}"

    def put(*new: ast.stmt) -> Callable[[], None]:
        def apply() -> None:
            block[place : place + 1] = list(new)

        return apply

    if isinstance(node, ast.Raise):
        yield _Edit(BugClass.EXCEPTION_SUPPRESSION, f"{where}: raise removed", put(ast.Pass()))
        if node.exc is not None:
            yield _Edit(
                BugClass.EXCEPTION_SUPPRESSION,
                f"{where}: returns None instead of raising",
                put(ast.Return(value=ast.Constant(None))),
            )
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        kind = BugClass.RESOURCE_LEAK
        text = ast.unparse(node)
        if "acquire" in text or "_enter" in text or "wait" in text or "notify" in text:
            kind = BugClass.RACE_CONDITION
        yield _Edit(kind, f"{where}: {text[:40]} removed", put(ast.Pass()))
    elif isinstance(node, ast.Delete):
        yield _Edit(BugClass.RESOURCE_LEAK, f"{where}: del removed", put(ast.Pass()))
    elif isinstance(node, ast.With):
        text = ast.unparse(node.items[0].context_expr).lower()
        if any(word in text for word in _LOCK_WORDS) and node.items[0].optional_vars is None:
            yield _Edit(BugClass.RACE_CONDITION, f"{where}: without {text}", put(*node.body))
    elif isinstance(node, ast.Try):
        yield from _try_edits(node, where, put)
    elif isinstance(node, ast.AugAssign):
        yield _Edit(BugClass.OFF_BY_ONE, f"{where}: step removed", put(ast.Pass()))


def _try_edits(
    node: ast.Try, where: str, put: Callable[..., Callable[[], None]]
) -> Iterator[_Edit]:
    if node.finalbody:
        moved = [*node.body, *node.finalbody] if not node.handlers else []
        if moved:
            yield _Edit(BugClass.RESOURCE_LEAK, f"{where}: finally became plain", put(*moved))
            yield _Edit(BugClass.RESOURCE_LEAK, f"{where}: finally removed", put(*node.body))
        quiet = copy.deepcopy(node)
        quiet.handlers = [*quiet.handlers, _swallow()]
        yield _Edit(BugClass.EXCEPTION_SUPPRESSION, f"{where}: errors swallowed", put(quiet))
    for place, handler in enumerate(node.handlers):
        if handler.type is not None:
            wide = copy.deepcopy(node)
            wide.handlers[place].type = ast.Name(id="Exception", ctx=ast.Load())
            words = f"{where}: catches every Exception"
            yield _Edit(BugClass.EXCEPTION_SUPPRESSION, words, put(wide))


def _swallow() -> ast.ExceptHandler:
    kind = ast.Name(id="Exception", ctx=ast.Load())
    return ast.ExceptHandler(type=kind, name=None, body=[ast.Pass()])


def _expression_edits(node: ast.AST) -> Iterator[_Edit]:
    where = f"line {getattr(node, 'lineno', 0)}"
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            other = _BOUNDARIES.get(type(operator))
            if other is not None:
                words = f"{where}: {type(operator).__name__} became {other.__name__}"
                yield _Edit(BugClass.BOUNDARY_CONDITION, words, _setter(node.ops, place, other()))
    elif isinstance(node, ast.BoolOp):
        flipped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        words = f"{where}: became {type(flipped).__name__}"
        yield _Edit(BugClass.BOUNDARY_CONDITION, words, _attribute(node, "op", flipped))
        for place in range(len(node.values)):
            left = node.values[:place] + node.values[place + 1 :]
            words = f"{where}: condition {place + 1} dropped"
            new: object = left if len(left) > 1 else [left[0], left[0]]
            yield _Edit(BugClass.BOUNDARY_CONDITION, words, _attribute(node, "values", new))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        words = f"{where}: not removed"
        twice = ast.UnaryOp(op=ast.Not(), operand=node.operand)
        yield _Edit(BugClass.BOUNDARY_CONDITION, words, _attribute(node, "operand", twice))
    elif isinstance(node, ast.Constant):
        yield from _constant_edits(node, where)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        changed = _ARITHMETIC[type(node.op)]
        kind = BugClass.FLOAT_COMPARISON
        if isinstance(node.op, ast.Add | ast.Sub):
            kind = BugClass.OFF_BY_ONE
        words = f"{where}: {type(node.op).__name__} became {changed.__name__}"
        yield _Edit(kind, words, _attribute(node, "op", changed()))
    elif isinstance(node, ast.Call):
        yield from _call_edits(node, where)


def _constant_edits(node: ast.Constant, where: str) -> Iterator[_Edit]:
    if type(node.value) is int:
        for step in (1, -1):
            words = f"{where}: {node.value} became {node.value + step}"
            yield _Edit(BugClass.OFF_BY_ONE, words, _attribute(node, "value", node.value + step))
    elif type(node.value) is bool:
        words = f"{where}: {node.value} became {not node.value}"
        yield _Edit(BugClass.BOUNDARY_CONDITION, words, _attribute(node, "value", not node.value))
    elif type(node.value) is float:
        words = f"{where}: {node.value} became {node.value + 0.001}"
        new = node.value + 0.001
        yield _Edit(BugClass.FLOAT_COMPARISON, words, _attribute(node, "value", new))


def _call_edits(node: ast.Call, where: str) -> Iterator[_Edit]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    swaps = {"fsum": "sum", "min": "max", "max": "min", "floor": "ceil", "ceil": "floor"}
    if name in swaps:
        kind = (
            BugClass.FLOAT_COMPARISON
            if name in ("fsum", "floor", "ceil")
            else (BugClass.BOUNDARY_CONDITION)
        )
        new: ast.expr = ast.Name(id=swaps[name], ctx=ast.Load())
        if isinstance(node.func, ast.Attribute) and name in ("floor", "ceil"):
            new = ast.Attribute(value=node.func.value, attr=swaps[name], ctx=ast.Load())
        words = f"{where}: {name} became {swaps[name]}"
        yield _Edit(kind, words, _attribute(node, "func", new))
    elif name in ("abs", "sorted", "set", "list", "float") and len(node.args) == 1:
        kind = (
            BugClass.FLOAT_COMPARISON if name in ("abs", "float") else (BugClass.BOUNDARY_CONDITION)
        )
        # `(x)[:]` would not hold for numbers; a call of an identity keeps the shape.
        same = ast.Lambda(
            args=ast.arguments(
                posonlyargs=[], args=[ast.arg(arg="x")], kwonlyargs=[], kw_defaults=[], defaults=[]
            ),
            body=ast.Name(id="x", ctx=ast.Load()),
        )
        if not node.keywords:
            words = f"{where}: {name}() removed"
            yield _Edit(kind, words, _attribute(node, "func", same))


def _setter(items: list[ast.cmpop], place: int, value: ast.cmpop) -> Callable[[], None]:
    def apply() -> None:
        items[place] = value

    return apply


def _attribute(node: ast.AST, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, name, value)


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant.py", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _changed_line(before: str, after: str) -> int:
    old, new = before.splitlines(), after.splitlines()
    for number, pair in enumerate(zip(old, new, strict=False), start=1):
        if pair[0] != pair[1]:
            return number
    return min(len(old), len(new))
