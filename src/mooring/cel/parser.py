"""Parse CEL into a tree, within cel-go's limits on size and nesting."""

# cel-go: parser/parser.go, parser/gen/CEL.g4

from __future__ import annotations

from typing import NoReturn

from mooring.cel import syntax
from mooring.cel.depth import room_for
from mooring.cel.issues import describe
from mooring.cel.lexer import SyntaxFault, Token, tokens_of, unquote
from mooring.cel.macros import MacroFault, NodeFactory, expand
from mooring.cel.syntax import MapEntry, Node
from mooring.cel.values import CompileError

#: The most levels of nesting, and the most code points of an expression.
MAX_DEPTH = 250
MAX_CODE_POINTS = 100_000

_RECURSION = f"expression recursion limit exceeded: {MAX_DEPTH}"
_VISITS = "max recursion depth exceeded"
_EXPECTED = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING,"
    " BYTES, IDENTIFIER}"
)
#: Python frames of this parser per open bracket.
_FRAMES = 9
_RELATIONS = {"<", "<=", ">=", ">", "==", "!=", "in"}
_PRECEDENCE = {"*": 2, "/": 2, "%": 2, "+": 1, "-": 1}
_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "in"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
_WORDS: dict[str, tuple[str, object]] = {
    "true": ("bool", True),
    "false": ("bool", False),
    "null": ("null_type", None),
}


def parse(source: str) -> Node:
    """Parse an expression, or raise CompileError."""
    try:
        if len(source) > MAX_CODE_POINTS:
            raise SyntaxFault(
                -1,
                f"expression code point size exceeds limit: size: {len(source)}, "
                f"limit {MAX_CODE_POINTS}",
            )
        tokens = tokens_of(source)
        with room_for(_nesting(tokens), _FRAMES):
            return _Parser(source, tokens).parse()
    except SyntaxFault as fault:
        raise CompileError(describe(source, [fault.issue])) from None


def _nesting(tokens: list[Token]) -> int:
    """Return an upper bound on the nesting levels of tokens, capped at what is allowed."""
    depth = deepest = 0
    for token in tokens:
        if token.kind == "mark":
            if token.text in "([{?":
                depth += 1
                deepest = max(deepest, depth)
            elif token.text in ")]}":
                depth -= 1
    return min(deepest, MAX_DEPTH) + 1


def _signed(token: Token) -> bool:
    """Return whether a minus sign before a token is part of a number."""
    return token.kind == "double" or (token.kind == "int" and token.text[-1] not in "uU")


class _Parser:
    """A parser of one expression.

    cel-go limits how often each rule of its grammar is open, and how deep the tree becomes. This
    parser counts both in the same way, to refuse the same expressions.
    """

    def __init__(self, source: str, tokens: list[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._next = 0
        self._open = {"expr": 0, "relation": 0, "calc": 0}
        self._make = NodeFactory()

    def parse(self) -> Node:
        node, visits = self._expression()
        token = self._peek()
        if token.kind != "end":
            self._fail(f"extraneous input '{token.text}' expecting <EOF>", token)
        self._check_visits(visits)
        return node

    # Tokens.

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self, *marks: str) -> Token | None:
        """Take the next token if it is one of these marks."""
        token = self._tokens[self._next]
        if token.text in marks and token.kind in ("mark", "name"):
            self._next += 1
            return token
        return None

    def _expect(self, mark: str) -> None:
        if self._take(mark) is None:
            token = self._peek()
            if token.kind == "end" and mark in ")]":
                self._fail(f"missing '{mark}' at '{token.text}'", token)
            self._fail(f"mismatched input '{token.text}' expecting '{mark}'", token)

    def _fail(self, message: str, token: Token) -> NoReturn:
        raise SyntaxFault(token.place, f"Syntax error: {message}")

    # Limits.

    def _enter(self, rule: str) -> None:
        self._open[rule] += 1
        if self._open[rule] > MAX_DEPTH:
            raise SyntaxFault(-1, _RECURSION)

    def _check_visits(self, visits: int) -> None:
        if visits > MAX_DEPTH:
            raise SyntaxFault(-1, _VISITS)

    # Rules. Each returns a node and the number of nested visits that cel-go needs for it.

    def _expression(self) -> tuple[Node, int]:
        self._enter("expr")
        node, visits = self._junction("||", syntax.LOGICAL_OR)
        if (mark := self._take("?")) is not None:
            yes, a = self._junction("||", syntax.LOGICAL_OR)
            self._expect(":")
            no, b = self._expression()
            node = self._make.call(mark.place, syntax.CONDITIONAL, node, yes, no)
            visits = max(visits, a, b) + 1
        self._open["expr"] -= 1
        return node, visits

    def _junction(self, mark: str, function: str) -> tuple[Node, int]:
        """Parse terms with && or || between them into a balanced tree."""
        below = self._relation if mark == "&&" else self._and
        node, visits = below()
        terms, places = [node], []
        while (taken := self._take(mark)) is not None:
            node, more = below()
            visits = max(visits, more)
            terms.append(node)
            places.append(taken.place)
        if not places:
            return node, visits
        return self._balance(function, terms, places, 0, len(places) - 1), visits

    def _and(self) -> tuple[Node, int]:
        return self._junction("&&", syntax.LOGICAL_AND)

    def _balance(
        self, function: str, terms: list[Node], places: list[int], low: int, high: int
    ) -> Node:
        middle = (low + high + 1) // 2
        left = (
            terms[middle]
            if middle == low
            else self._balance(function, terms, places, low, middle - 1)
        )
        right = (
            terms[middle + 1]
            if middle == high
            else self._balance(function, terms, places, middle + 1, high)
        )
        return self._make.call(places[middle], function, left, right)

    def _relation(self, right: bool = False) -> tuple[Node, int]:
        self._enter("relation")
        node, visits = self._calc(1)
        while not right and (mark := self._take(*_RELATIONS)) is not None:
            other, more = self._relation(right=True)
            function = syntax.IN if mark.text == "in" else f"_{mark.text}_"
            node = self._make.call(mark.place, function, node, other)
            visits = max(visits, more) + 1
        self._open["relation"] -= 1
        return node, visits

    def _calc(self, least: int) -> tuple[Node, int]:
        self._enter("calc")
        node, visits = self._unary()
        while (power := _PRECEDENCE.get(self._peek().text, 0)) >= least:
            mark = self._peek()
            if mark.kind != "mark":
                break
            self._next += 1
            other, more = self._calc(power + 1)
            node = self._make.call(mark.place, f"_{mark.text}_", node, other)
            visits = max(visits, more) + 1
        self._open["calc"] -= 1
        return node, visits

    def _unary(self) -> tuple[Node, int]:
        first = self._peek()
        if first.text not in ("!", "-") or first.kind != "mark":
            return self._member()
        if first.text == "-" and _signed(self._tokens[self._next + 1]):
            return self._member()
        count = 0
        while self._take(first.text) is not None:
            count += 1
        node, visits = self._member()
        if count % 2 == 0:
            return node, visits
        function = syntax.LOGICAL_NOT if first.text == "!" else syntax.NEGATE
        return self._make.call(first.place, function, node), visits

    def _member(self) -> tuple[Node, int]:
        node, visits = self._primary()
        while True:
            if (mark := self._take(".")) is not None:
                optional = self._take("?") is not None
                name = self._name()
                if not optional and (mark_open := self._take("(")) is not None:
                    args, more = self._arguments()
                    node = self._call(mark_open.place, name.text, args, node)
                    visits = max(visits, more) + 1
                elif optional:
                    field = self._make.literal(name.place, "string", name.text)
                    node = self._make.call(mark.place, syntax.OPT_SELECT, node, field)
                    visits += 1
                else:
                    node = self._make.select(mark.place, node, name.text)
                    visits += 1
            elif (mark := self._take("[")) is not None:
                function = syntax.INDEX if self._take("?") is None else syntax.OPT_INDEX
                key, more = self._expression()
                self._expect("]")
                node = self._make.call(mark.place, function, node, key)
                visits = max(visits, more) + 1
            else:
                return node, visits

    def _name(self) -> Token:
        token = self._peek()
        if token.kind == "escaped":
            raise SyntaxFault(token.place, "unsupported syntax: '`'")
        if token.kind != "name" or token.text in ("in", *_WORDS):
            self._fail(f"mismatched input '{token.text}' expecting IDENTIFIER", token)
        self._next += 1
        return token

    def _primary(self) -> tuple[Node, int]:
        token = self._peek()
        self._next += 1
        if token.kind in ("int", "double", "string"):
            return self._literal(token), 0
        if token.text == "-" and token.kind == "mark" and _signed(number := self._peek()):
            self._next += 1
            return self._literal(Token(number.kind, f"-{number.text}", token.place)), 0
        if token.kind == "name" and token.text in _WORDS:
            kind, value = _WORDS[token.text]
            return self._make.literal(token.place, kind, value), 0
        dot = token.text == "."
        if (token.kind == "name" and token.text != "in") or dot:
            name = self._name() if dot else token
            if name.text in _RESERVED:
                raise SyntaxFault(token.place, f"reserved identifier: {name.text}")
            if (mark := self._take("(")) is not None:
                args, visits = self._arguments()
                return self._call(mark.place, name.text, args, None), visits
            return self._make.ident(name.place, name.text), 0
        if token.text == "(":
            node, visits = self._expression()
            self._expect(")")
            return node, visits
        if token.text == "[":
            return self._list(token)
        if token.text == "{":
            return self._map(token)
        self._fail(f"mismatched input '{token.text}' expecting {_EXPECTED}", token)

    def _literal(self, token: Token) -> Node:
        text, place = token.text, token.place
        if token.kind == "double":
            return self._make.literal(place, "double", float(text))
        if token.kind == "string":
            if text[0] in "bB":
                inner = unquote(Token("string", text[1:], place))
                return self._make.literal(place, "bytes", inner.encode())
            return self._make.literal(place, "string", unquote(token))
        unsigned = text[-1] in "uU"
        value = int(text.rstrip("uU"), 16 if "0x" in text else 10) if len(text) < 40 else 2**80
        low, high = (0, 2**64) if unsigned else (-(2**63), 2**63)
        if not low <= value < high:
            raise SyntaxFault(place, f"invalid {'uint' if unsigned else 'int'} literal")
        return self._make.literal(place, "uint" if unsigned else "int", value)

    def _arguments(self) -> tuple[list[Node], int]:
        args: list[Node] = []
        visits = 0
        if self._take(")") is not None:
            return args, visits
        while True:
            node, more = self._expression()
            args.append(node)
            visits = max(visits, more)
            if self._take(",") is None:
                self._expect(")")
                return args, visits

    def _call(self, place: int, function: str, args: list[Node], target: Node | None) -> Node:
        try:
            expanded = expand(self._make, place, function, target, args)
        except MacroFault as fault:
            raise SyntaxFault(fault.place, str(fault)) from None
        if expanded is not None:
            return expanded
        return self._make.call(place, function, *args, target=target)

    def _list(self, opened: Token) -> tuple[Node, int]:
        elements: list[Node] = []
        optionals: set[int] = set()
        visits = 0
        while self._take("]") is None:
            if elements:
                self._expect(",")
                if self._take("]") is not None:
                    break
            if self._take("?") is not None:
                optionals.add(len(elements))
            node, more = self._expression()
            elements.append(node)
            visits = max(visits, more)
        return self._make.list_of(opened.place, elements, optionals), visits

    def _map(self, opened: Token) -> tuple[Node, int]:
        entries: list[MapEntry] = []
        visits = 0
        while self._take("}") is None:
            if entries:
                self._expect(",")
                if self._take("}") is not None:
                    break
            optional = self._take("?") is not None
            key, a = self._expression()
            self._expect(":")
            value, b = self._expression()
            entries.append(MapEntry(key, value, optional))
            visits = max(visits, a, b)
        return self._make.map_of(opened.place, entries), visits
