"""Hash-consed nodes and arithmetic on them, with simplification."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import SupportsFloat, TypeAlias

from nptrace.ir.fold import safe_scale
from nptrace.ir.refusal import refusal

Node = int
Term: TypeAlias = tuple  # (operation, operands: nodes, and for some operations numbers, shapes, names)
_SIMPLIFIED = frozenset({"const", "neg"})  # sums and products of anything else are not simplified


@dataclass(kw_only=True)
class Arithmetic:
    """Nodes, and constructors of sums, products and quotients."""

    nodes: list[Term] = field(default_factory=list)
    _ids: dict[Term, Node] = field(default_factory=dict)
    _literal: dict[Node, Term] = field(default_factory=dict)  # by node: the quotient as written
    _constants: dict[float, Node] = field(default_factory=dict)  # except zeros, of which there are two
    _zero: Node | None = None  # the positive one

    # -- leaves --------------------------------------------------------------------------------------------------------
    def node(self, op: str, *operands: Hashable) -> Node:
        """Return the node of this exact tuple, creating it on first use. No simplification."""
        key = (op, *operands)
        found = self._ids.get(key)
        return self._made(key) if found is None else found

    def _made(self, key: Term) -> Node:
        made = self._ids[key] = len(self.nodes)
        self.nodes.append(key)
        return made

    def const(self, value: SupportsFloat) -> Node:
        if type(value) is float:  # nearly always a known constant
            if value in self._constants:
                return self._constants[value]
            if value == 0.0 and self._zero is not None and math.copysign(1.0, value) > 0:
                return self._zero
        try:
            value = float(value)
        except OverflowError:
            raise refusal("a whole number is too large for a float") from None
        if value != value:
            value = math.nan  # one NaN, so that two traces can be compared
        key = ("const", value, math.copysign(1.0, value))  # 0.0 == -0.0, but they are different constants
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.nodes)
            self.nodes.append(("const", value))
        if value:
            self._constants[value] = found
        elif key[2] > 0:
            self._zero = found
        return found

    def no_fold(self, value: float, name: Hashable) -> Node:
        """Return a constant that is not simplified: 0*x stays a product. Different names give different nodes."""
        return self.node("const", float(value), name)

    def input(self, position: int) -> Node:
        return self.node("input", position)

    def op(self, i: Node) -> str:
        return self.nodes[i][0]

    def value(self, i: Node) -> float | None:
        """Return the number of a constant node, or None; also None for a constant that must not be folded."""
        return _value(self.nodes[i])

    # -- arithmetic ----------------------------------------------------------------------------------------------------
    def add(self, a: Node, b: Node) -> Node:
        m, n = self.nodes[a], self.nodes[b]
        if m[0] not in _SIMPLIFIED and n[0] not in _SIMPLIFIED:  # nearly always
            key = ("add", a, b) if a <= b else ("add", b, a)
            found = self._ids.get(key)
            return self._made(key) if found is None else found
        x, y = _value(m), _value(n)
        if x is not None and y is not None:
            return self.const(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        if n[0] == "neg":
            return self.sub(a, n[1])
        if m[0] == "neg":
            return self.sub(b, m[1])
        return self.node("add", *ordered(a, b))  # one of them is a constant that is not folded

    def sub(self, a: Node, b: Node) -> Node:
        m, n = self.nodes[a], self.nodes[b]
        if a != b and m[0] not in _SIMPLIFIED and n[0] not in _SIMPLIFIED:  # nearly always
            return self.node("sub", a, b)
        x, y = _value(m), _value(n)
        if x is not None and y is not None:
            return self.const(x - y)
        if a == b:
            return self.const(0)
        if y == 0:
            return a
        if x == 0:
            return self.neg(b)
        if self.op(b) == "neg":
            return self.add(a, self.nodes[b][1])
        if self.op(a) == "neg":
            return self.neg(self.add(self.nodes[a][1], b))
        return self.node("sub", a, b)

    def neg(self, a: Node) -> Node:
        n, known = self.nodes[a], self.value(a)
        if known is not None:
            return self.const(-known)
        if n[0] == "neg":
            return n[1]
        if n[0] == "sub":
            return self.node("sub", n[2], n[1])
        if n[0] == "mul":  # a constant takes the sign: mirrored groups then differ only in constants
            for factor, rest in (n[1:], n[:0:-1]):
                known = self.value(factor)
                if known is not None:
                    return self._written(self.mul(self.const(-known), rest), ("neg", a), a)
        return self.node("neg", a)

    def mul(self, a: Node, b: Node) -> Node:
        m, n = self.nodes[a], self.nodes[b]
        if m[0] not in _SIMPLIFIED and n[0] not in _SIMPLIFIED:  # nearly always
            key = ("mul", a, b) if a <= b else ("mul", b, a)
            found = self._ids.get(key)
            return self._made(key) if found is None else found
        x, y = _value(m), _value(n)
        if x is not None and y is not None:
            return self.const(x * y)
        if y is not None:
            a, b, x, m, n = b, a, y, n, m
        if x is not None:
            if x == 0:
                return self.const(0.0)
            if x == 1:
                return b
            if x == -1:
                return self.neg(b)
            if n[0] == "mul":
                for factor, rest in (n[1:], n[:0:-1]):
                    known = self.value(factor)
                    if known is not None and safe_scale(x * known):
                        return self._written(self.mul(self.const(x * known), rest), ("mul", a, b), b)
        if m[0] == "neg":
            return self.neg(self.mul(m[1], b))
        if n[0] == "neg":
            return self.neg(self.mul(a, n[1]))
        return self.node("mul", *ordered(a, b))

    def inv(self, a: Node) -> Node:
        n, known = self.nodes[a], self.value(a)
        if known is not None:
            if known == 0:
                raise refusal("division by the constant zero in a traced function")
            return self.const(1 / known)
        if n[0] == "inv":
            return n[1]
        if n[0] == "neg":
            return self.neg(self.inv(n[1]))
        return self.node("inv", a)

    def div(self, a: Node, b: Node) -> Node:
        """Return a times the reciprocal of b, which is shared by all quotients with this divisor."""
        if self.op(a) == "neg":
            return self.neg(self.div(self.nodes[a][1], b))
        if self.op(b) == "neg":
            return self.neg(self.div(a, self.nodes[b][1]))
        return self._written(self.mul(a, self.inv(b)), ("div", a, b))

    def quotient(self, a: Node, b: Node) -> Node:
        """Return a / b, rounded once."""
        x, y = self.value(a), self.value(b)
        return self.const(x / y) if x is not None and y else self.node("div", a, b)

    def _written(self, node: Node, literal: Term, quotient: Node | None = None) -> Node:
        """Return the node, recording how it was written; with ``quotient``, only if that still is a quotient."""
        if (quotient is None or quotient in self._literal) and self.op(node) == "mul" and max(literal[1:]) < node:
            self._literal.setdefault(node, literal)
        return node


def _value(n: Term) -> float | None:
    """Return the number in a constant's tuple, or None; a constant that is not folded has three parts."""
    return n[1] if n[0] == "const" and len(n) == 2 else None


def ordered(a: Node, b: Node) -> tuple[Node, Node]:
    """Order the operands of a commutative operation, so that a + b and b + a are one node."""
    return (a, b) if a <= b else (b, a)
