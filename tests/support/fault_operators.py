"""Faults of the kinds that a screen can show unnoticed, found in a module's syntax tree.

An operator yields (node, span of bytes, text that replaces it). Replacements use only names in the code: another column
is one that the module reads elsewhere in the same table. Another argument is one of the same call.
"""

import ast
import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SWAPPED = """before after, low high, lower upper, first second, first last, base recalibrated, fit test, x y,
confidence accuracy, score outcome, score scores, error score, value point, rows classes, mean median"""
PAIRS = [tuple(pair.split()) for pair in SWAPPED.split(",")]
OPPOSITE = {"min": "max", "argmin": "argmax", "idxmin": "idxmax", "nsmallest": "nlargest", "minimum": "maximum"}
OPPOSITE |= {"nanmin": "nanmax", "floor": "ceil", "any": "all", "False": "True"}
OPPOSITE |= {worst: best for best, worst in OPPOSITE.items()}
ORDERED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
THRESHOLD = re.compile(r"eps|tolerance|level|alpha|threshold|limit|least|most|share|max_|min_|[A-Z_]+$")
PERCENT = re.compile(r"(\.\d)%(?=[}\"',])")
SIMPLE = (ast.Name, ast.Attribute, ast.Subscript)
NOT_COMPUTED = {"annotation", "returns", "decorator_list"}


@dataclass(frozen=True)
class Fault:
    """Piece of a module's text and its replacement; ``nth`` of its kind in the same function."""

    module: str
    operator: str
    scope: str
    before: str
    after: str
    nth: int
    line: int
    span: tuple[int, int]

    @property
    def name(self):
        """Return its name in the table: stable when lines above it change."""
        return (self.module, self.operator, self.scope, self.before, self.after, str(self.nth))

    @property
    def rank(self):
        """Return a fixed position in a random order."""
        return hashlib.sha256("\0".join(self.name).encode()).hexdigest()

    def planted(self, source):
        return source[: self.span[0]] + self.after.encode() + source[self.span[1] :]


class Module:
    """Text and tree of a module; positions are bytes, as ast counts columns."""

    def __init__(self, path, source):
        self.path, self.source, self.tree = path, source, ast.parse(source)
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.nodes = list(self._walk(self.tree, "", None))

    def _walk(self, node, scope, parent):
        """Yield (node, function, parent) of computed nodes: no annotation, no docstring, nothing inside an f-string."""
        yield node, scope, parent
        if isinstance(node, ast.JoinedStr):  # before Python 3.12 its parts have no places
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope = f"{scope}.{node.name}".strip(".")
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                told = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
                typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
                if isinstance(child, ast.AST) and name not in NOT_COMPUTED and not (told or typing):
                    yield from self._walk(child, scope, node)

    def of(self, *kinds):
        """Return (node, parent) of these kinds, except assignment targets."""
        read = [(n, p) for n, _, p in self.nodes if isinstance(getattr(n, "ctx", ast.Load()), ast.Load)]
        return [(node, parent) for node, parent in read if isinstance(node, kinds)]

    def span(self, node):
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        start, end = node if isinstance(node, tuple) else self.span(node)
        return self.source[start:end].decode()

    def faults(self):
        """Yield every fault of every operator."""
        scopes, seen = {id(node): scope for node, scope, _ in self.nodes}, Counter()
        for operator in OPERATORS:
            for node, span, after in operator(self):
                kind = (operator.__name__.replace("_", " "), scopes[id(node)], self.text(span), after)
                yield Fault(self.path, *kind, seen[kind], node.lineno, span)
                seen[kind] += 1

    def changes(self, fault):
        """Return True if the result is a valid and different program."""
        try:
            return ast.dump(ast.parse(fault.planted(self.source))) != ast.dump(self.tree)
        except SyntaxError:
            return False


def word_of(m, node):
    """Return the last word of a name, an attribute or a string that is a word, and its position."""
    end = m.span(node)[1]
    if isinstance(node, ast.Constant):
        word = node.value if isinstance(node.value, str) and re.fullmatch(r"[a-z][\w -]*", node.value) else ""
        return word, (end - 1 - len(word), end - 1)
    word = node.id if isinstance(node, ast.Name) else node.attr
    return word, (end - len(word), end)


def exchanged(m, places):
    """Yield each of (node, key, span) with the next one, in alphabetical order, of those with the same key."""
    texts = defaultdict(set)
    for _, key, span in places:
        texts[key].add(m.text(span))
    for node, key, span in places:
        ordered = sorted(texts[key])
        other = ordered[(ordered.index(m.text(span)) + 1) % len(ordered)]
        yield node, span, other


def swapped_name(m):
    words = [(node, *word_of(m, node)) for node, _ in m.of(ast.Name, ast.Attribute, ast.Constant)]
    known = {word for _, word, _ in words}
    for node, word, span in words:
        for a, b in [*PAIRS, *(pair[::-1] for pair in PAIRS)]:
            other = re.sub(rf"(?<![a-z]){a}(?![a-z])", b, word)
            if other != word and other in known:
                yield node, span, other


def swapped_arguments(m):
    for node, _ in m.of(ast.Call, ast.Tuple):
        listed = node.args if isinstance(node, ast.Call) else node.elts
        named = [keyword.value for keyword in getattr(node, "keywords", [])]
        for a, b in [*pairwise(listed), *pairwise(named)]:
            if isinstance(a, SIMPLE) and isinstance(b, SIMPLE):
                (start, after_a), (at_b, end) = m.span(a), m.span(b)
                yield a, (start, end), m.text(b) + m.text((after_a, at_b)) + m.text(a)


def another_column(m):
    read = [(n, m.text(n.value), m.span(n.slice)) for n, _ in m.of(ast.Subscript) if isinstance(n.slice, ast.Constant)]
    return exchanged(m, [place for place in read if m.text(place[2])[0] in "\"'"])


def another_attribute(m):
    called = {id(node.func) for node, _ in m.of(ast.Call)}
    imported = {a.asname or a.name for n, *_ in m.nodes if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names}
    read = [(n, m.text(n.value), word_of(m, n)[1]) for n, _ in m.of(ast.Attribute) if isinstance(n.value, ast.Name)]
    return exchanged(m, [place for place in read if id(place[0]) not in called and place[1] not in imported])


def another_key(m):
    slots = []
    for node, parent in m.of(ast.Constant):
        if word_of(m, node)[0] and isinstance(parent, ast.keyword):
            slots.append((node, parent.arg, m.span(node)))
        elif word_of(m, node)[0] and isinstance(parent, ast.Compare):
            slots.append((node, m.text(parent.left), m.span(node)))
        elif word_of(m, node)[0] and isinstance(parent, ast.Call):
            slots.append((node, f"{m.text(parent.func)} {parent.args.index(node)}", m.span(node)))
    return exchanged(m, slots)


def sign(m):
    for node, _ in m.of(ast.UnaryOp, ast.BinOp):
        if isinstance(node.op, ast.USub):
            yield node, m.span(node), m.text(node.operand)
        elif isinstance(node.op, ast.Sub | ast.Add) and isinstance(node, ast.BinOp):
            between = (m.span(node.left)[1], m.span(node.right)[0])
            yield node, between, m.text(between).translate(str.maketrans("+-", "-+"))


def off_by_one(m):
    for node, parent in m.of(ast.Constant):
        call = isinstance(parent, ast.Call) and re.search(
            r"range$|head$|linspace$|repeat$|islice$", m.text(parent.func)
        )
        if type(node.value) is int and (
            call or isinstance(parent, ast.Slice | ast.Subscript | ast.BinOp | ast.Compare)
        ):
            yield node, m.span(node), str(node.value + 1)
    for node, _ in m.of(ast.Compare):
        if len(node.ops) == 1 and type(node.ops[0]) in ORDERED:
            left, right = m.text(node.left), m.text(node.comparators[0])
            yield node, m.span(node), f"{left} {ORDERED[type(node.ops[0])]} {right}"


def threshold_times_100(m):
    for node, parent in m.of(ast.Constant):
        target = getattr(parent, "targets", [getattr(parent, "target", None)])[0]
        name = getattr(parent, "arg", "") or getattr(target, "id", "")
        if type(node.value) in (int, float) and (isinstance(parent, ast.Compare) or THRESHOLD.match(name)):
            yield node, m.span(node), repr(node.value * 100)


def best_for_worst(m):
    for node, parent in m.of(ast.Name, ast.Attribute, ast.Constant):
        ordered = isinstance(parent, ast.keyword) and parent.arg in ("ascending", "reverse")
        word, span = (m.text(node), m.span(node)) if isinstance(node, ast.Constant) else word_of(m, node)
        if word in OPPOSITE and (ordered or not isinstance(node, ast.Constant)):
            yield node, span, OPPOSITE[word]


def percent_for_share(m):
    for node, _ in m.of(ast.JoinedStr, ast.Constant):
        start, text = m.span(node)[0], m.text(node).encode().decode("latin-1")
        for found in PERCENT.finditer(text):
            yield node, (start + found.start(), start + found.end()), f"{found[1]}f"
        if text == "100":
            yield node, m.span(node), "1"


def another_model(m):
    for node, _ in m.of(ast.Subscript):
        index = m.text(node.slice)
        if index in ("0", "-1") or isinstance(node.slice, ast.Name):
            yield node, m.span(node.slice), {"0": "-1", "-1": "0"}.get(index, f"{index} - 1")
    for node, _ in m.of(ast.Call):
        coloured = re.search(r"style|colou?r|look", m.text(node.func))
        listed = m.text(node.func) == "enumerate"
        if len(node.args) == 1 and (listed or (coloured and isinstance(node.args[0], SIMPLE))):
            yield node, m.span(node.args[0]), m.text(node.args[0]) + (" + 1" if coloured else ", 1")


def other_branch(m):
    tests = [n.test for n, _ in m.of(ast.If, ast.IfExp)] + [test for n, _ in m.of(ast.comprehension) for test in n.ifs]
    return ((test, m.span(test), f"(not ({m.text(test)}))") for test in tests)


OPERATORS = [swapped_name, swapped_arguments, another_column, another_attribute, another_key, sign, off_by_one]
OPERATORS += [threshold_times_100, best_for_worst, percent_for_share, another_model, other_branch]


def folder_of(fault):
    return str(Path(fault.module).parent)


def sample(modules, count):
    """Return ``count`` faults, spread over operators, folders and modules: always the same ones for the same code."""
    of, waiting = {module.path: module for module in modules}, defaultdict(list)
    for fault in sorted((fault for module in modules for fault in module.faults()), key=lambda fault: fault.rank):
        waiting[fault.operator].append(fault)
    taken, planted = [], Counter()
    while len(taken) < count and any(waiting.values()):
        for faults in filter(None, waiting.values()):
            fault = min(faults, key=lambda fault: (planted[folder_of(fault)], planted[fault.module]))
            faults.remove(fault)
            if of[fault.module].changes(fault):
                planted.update((folder_of(fault), fault.module))
                taken.append(fault)
    return taken[:count]
