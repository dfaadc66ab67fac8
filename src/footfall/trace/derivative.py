"""Exact derivatives of a graph, as more graph: forward (Jacobian-vector) and reverse (vector-Jacobian) products.

Both walk the nodes once and rebuild them, so that a loop can be replaced by one that also carries tangents (forward) or
that saves its carried values for a second loop to read backwards (reverse). Everything else is rebuilt into itself.
"""

from collections import defaultdict

from footfall.errors import TraceError
from .graph import Graph
from .scope import Scopes


def jvp(graph, outputs, tangents):
    """(new graph, outputs, their tangents) for ``tangents``: {input position: position of its tangent as an input}.

    A new graph, so that a value and its tangent are born side by side: appended to the old one, every tangent would
    come after every value, and all values would have to be kept.
    """
    walk = _Forward(graph, outputs, tangents)
    walk.visit_all(Scopes.OUTSIDE)
    return walk.new, [walk.primal[o] for o in outputs], [walk.tangent[o] for o in outputs]


def vjp(graph, outputs, adjoints, inputs):
    """(new graph, outputs, adjoints of ``inputs``); ``adjoints``: one input position an output, ``inputs``: positions."""
    walk = _Reverse(graph, outputs)
    new, primal = walk.new, {}
    walk.visit_all(Scopes.OUTSIDE, primal)
    total = defaultdict(lambda: new.const(0))
    for output, position in zip(outputs, adjoints):
        total[output] = new.add(total[output], new.input(position))
    walk.pull_back(Scopes.OUTSIDE, primal, total)
    return new, [primal[o] for o in outputs], [total[graph.input(i)] for i in inputs]


def rebuild(old, graph, i, new):
    """Node i of ``old`` in ``graph``, its operands replaced by ``new``: a mapping."""
    n = old.nodes[i]
    op, a = n[0], [new[x] for x in old.operands(i)]
    simple = {
        "add": graph.add, "sub": graph.sub, "mul": graph.mul, "neg": graph.neg, "inv": graph.inv, "pow": graph.power,
        "min": graph.minimum, "max": graph.maximum, "lt": graph.less, "le": graph.less_equal,
        "not": graph.logical_not, "select": graph.select,
    }  # fmt: skip
    if op == "const":
        return graph.const(n[1])
    if op == "input":
        return graph.input(n[1])
    if op in simple:
        return simple[op](*a)
    if op in ("and", "or"):
        return graph.logical(op, *a)
    if op == "lookup":
        return graph.lookup(graph.table(old.tables[n[1]]), *a)
    if op == "item":
        return graph.item(a[0], n[2])
    if op == "saved":
        raise TraceError("a reverse derivative through repeat cannot be differentiated again: take jvp first")
    return graph.unary(op, *a)


def partials(graph, op, a, y):
    """[(operand position, partial derivative)] of an operation on ``a`` with value ``y``; choices are not here."""
    g = graph
    one = g.const(1)
    if op == "add":
        return [(0, one), (1, one)]
    if op == "sub":
        return [(0, one), (1, g.const(-1))]
    if op == "mul":
        return [(0, a[1]), (1, a[0])]
    if op == "neg":
        return [(0, g.const(-1))]
    if op == "inv":
        return [(0, g.neg(g.mul(y, y)))]
    if op == "sqrt":
        return [(0, g.mul(g.const(0.5), g.inv(y)))]
    if op == "sin":
        return [(0, g.unary("cos", a[0]))]
    if op == "cos":
        return [(0, g.neg(g.unary("sin", a[0])))]
    if op == "exp":
        return [(0, y)]
    if op == "log":
        return [(0, g.inv(a[0]))]
    if op == "pow":
        by_base = g.mul(a[1], g.power(a[0], g.sub(a[1], one)))
        by_exponent = [] if g.value(a[1]) is not None else [(1, g.mul(y, g.unary("log", a[0])))]
        return [(0, by_base), *by_exponent]
    return []  # floor, lookup, comparisons, logic: flat


def choice(graph, op, a):
    """(condition, position if true, position if false) of an operation that picks one operand, or None."""
    if op == "select":
        return a[0], 1, 2
    if op == "min":
        return graph.less(a[1], a[0]), 1, 0
    if op == "max":
        return graph.less(a[0], a[1]), 1, 0
    return None


class _Forward:
    """Dual numbers: every old node gets a new value node and a tangent node."""

    def __init__(self, graph, roots, tangents):
        self.old, self.new, self.scopes = graph, Graph(), Scopes(graph, roots)
        self.given, self.zero = tangents, self.new.const(0)
        self.primal, self.tangent = {}, {}

    def visit_all(self, scope):
        for i in self.scopes.nodes[scope]:
            self.visit(i)

    def visit(self, i):
        n, g = self.old.nodes[i], self.new
        if n[0] == "repeat":
            self.visit_repeat(i)
        elif n[0] == "item":
            self.primal[i], self.tangent[i] = self.primal[n[1]][n[2]], self.tangent[n[1]][n[2]]
        elif n[0] not in ("param", "counter"):
            self.primal[i] = y = rebuild(self.old, g, i, self.primal)
            if n[0] == "input":
                self.tangent[i] = g.input(self.given[n[1]]) if n[1] in self.given else self.zero
                return
            a = [self.primal[x] for x in self.old.operands(i)]
            t = [self.tangent[x] for x in self.old.operands(i)]
            self.tangent[i] = self.push(n[0], a, t, y)

    def push(self, op, a, t, y):
        g = self.new
        if all(x == self.zero for x in t):
            return self.zero
        picked = choice(g, op, a)
        if picked:
            return g.select(picked[0], t[picked[1]], t[picked[2]])
        if op == "abs":
            return g.select(g.less(a[0], self.zero), g.neg(t[0]), t[0])
        total = self.zero
        for position, slope in partials(g, op, a, y):
            total = g.add(total, g.mul(slope, t[position]))
        return total

    def visit_repeat(self, i):
        """One loop that carries the values and the tangents that are not zero; which those are is found by trying."""
        g, old = self.new, self.old.nodes[i][1]
        region, initial = self.old.regions[old], self.old.nodes[i][2:]
        m = len(initial)
        moving = [k for k in range(m) if self.tangent[initial[k]] != self.zero]
        while True:
            new, params = g.open_region(region.count, m + len(moving))
            self.enter(old, new, region, params[:m], dict(zip(moving, params[m:])))
            values = [self.primal[r] for r in region.results]
            slopes = [self.tangent[r] for r in region.results]
            grown = [k for k in range(m) if k in moving or slopes[k] != self.zero]
            if grown == moving:
                break
            moving = grown
        start = [self.primal[x] for x in initial] + [self.tangent[initial[k]] for k in moving]
        loop = g.repeat(new, start, values + [slopes[k] for k in moving])
        at = {k: m + j for j, k in enumerate(moving)}
        self.primal[i] = [g.item(loop, k) for k in range(m)]
        self.tangent[i] = [g.item(loop, at[k]) if k in at else self.zero for k in range(m)]

    def enter(self, old, new, region, values, slopes):
        for k, p in enumerate(region.params):
            self.primal[p], self.tangent[p] = values[k], slopes.get(k, self.zero)
        counter = self.old.counter(old)
        self.primal[counter], self.tangent[counter] = self.new.counter(new), self.zero
        self.visit_all(old)


class _Reverse:
    """Values forwards with saving loops, then adjoints backwards."""

    def __init__(self, graph, roots):
        self.old, self.new, self.scopes = graph, Graph(), Scopes(graph, roots)

    def visit_all(self, scope, primal):
        for i in self.scopes.nodes[scope]:
            op = self.old.op(i)
            if op == "repeat":
                primal[i] = self.visit_repeat(i, primal)
            elif op not in ("param", "counter"):
                primal[i] = rebuild(self.old, self.new, i, primal)

    def visit_repeat(self, i, primal):
        g, old = self.new, self.old.nodes[i][1]
        region = self.old.regions[old]
        new, params = g.open_region(region.count, len(region.params))
        inside = dict(primal)
        inside.update(zip(region.params, params))
        inside[self.old.counter(old)] = g.counter(new)
        self.visit_all(old, inside)
        start = [primal[x] for x in self.old.nodes[i][2:]]
        return g.repeat(new, start, [inside[r] for r in region.results], saves=params)

    def pull_back(self, scope, primal, total):
        """Add to ``total`` (old node -> adjoint) what every node of the scope passes to its operands."""
        g, zero = self.new, self.new.const(0)
        for i in reversed(self.scopes.nodes[scope]):
            op = self.old.op(i)
            if op == "repeat":
                self.pull_back_repeat(i, primal, total)
                continue
            up = total[i] if i in total else zero
            if up == zero or op in ("const", "input", "param", "counter"):
                continue
            if op == "item":
                total[("item", *self.old.nodes[i][1:])] = up
                continue
            operands = self.old.operands(i)
            a = [primal[x] for x in operands]
            picked = choice(g, op, a)
            if picked:
                condition, yes, no = picked
                self.add(total, operands[yes], g.select(condition, up, zero))
                self.add(total, operands[no], g.select(condition, zero, up))
            elif op == "abs":
                self.add(total, operands[0], g.select(g.less(a[0], zero), g.neg(up), up))
            else:
                for position, slope in partials(g, op, a, primal[i]):
                    self.add(total, operands[position], g.mul(slope, up))

    def add(self, total, node, amount):
        if self.old.op(node) != "const":
            total[node] = self.new.add(total[node], amount)

    def pull_back_repeat(self, i, primal, total):
        """A second loop, backwards: recompute the body from the saved values, carry adjoints of carry and closure."""
        g, old, zero = self.new, self.old.nodes[i][1], self.new.const(0)
        region = self.old.regions[old]
        m = len(region.params)
        up = [total.pop(("item", i, k), zero) for k in range(m)]
        if all(u == zero for u in up):
            return
        captured = self.scopes.captured(old)
        new, params = g.open_region(region.count, m + len(captured), reverse=True)
        inside = dict(primal)
        inside.update((p, g.saved(primal[i], k, new)) for k, p in enumerate(region.params))
        inside[self.old.counter(old)] = g.counter(new)
        self.visit_all(old, inside)
        inner = defaultdict(lambda: zero)
        for result, adjoint in zip(region.results, params):
            self.add(inner, result, adjoint)
        self.pull_back(old, inside, inner)
        results = [inner[p] for p in region.params] + [g.add(p, inner[c]) for p, c in zip(params[m:], captured)]
        loop = g.repeat(new, up + [zero] * len(captured), results)
        for k, x in enumerate([*self.old.nodes[i][2:], *captured]):
            self.add(total, x, g.item(loop, k))
