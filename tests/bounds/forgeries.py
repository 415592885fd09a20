"""Eighty-odd ways to have something false called proved, as the text of a file of claims: a step, or a patched module.

``STEPS`` are expressions for the steps of a judged claim; ``PATCHES`` run before or within a file whose claim is false.
"""

# ruff: noqa: E501  programs, one a line
from __future__ import annotations

HEAD = """
import builtins, fractions, json, operator, sys, sympy, types
from fractions import Fraction
from sympy import *
from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Claim, Decision, Evidence, claim, conditional, misprint, proved, refuted
from dpcheck.bounds.evidence import *
from dpcheck.bounds.judge import judge, judged
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.statement import Carried, Statement, carries, stated

a, x, y, d = symbols("a x y d", positive=True)
n, k = symbols("n k", integer=True)
N = Symbol("N", integer=True, positive=True)
r = Symbol("r", real=True)
u = lambda kind, *args: kind(*args, evaluate=False)
UNIT, HALF = Domain({a: (0, 1)}), Domain({a: (Rational(1, 2), oo)})


class Liar(Function):
    def _eval_is_positive(self): return True
    def _eval_is_nonnegative(self): return True


class Folds(Function):
    @classmethod
    def eval(cls, *args): return None
    def doit(self, **hints): return Integer(0)
    def _eval_expand_func(self, **hints): return Integer(0)
    def _eval_simplify(self, **hints): return Integer(0)


class Two(Integer):
    def __new__(cls): return Integer.__new__(cls, 2)
    def __eq__(self, other): return True
    def __hash__(self): return 1
    def __sub__(self, other): return Integer(0)
    __rsub__ = __sub__


class Letter(Symbol):
    is_positive = True
    is_nonnegative = True


class Equal:
    def __eq__(self, other): return True


class One(Fraction):
    def __eq__(self, other): return True
    __hash__ = Fraction.__hash__


class Always(Inequality):
    def holds(self): return True


class Own:
    METHOD, says = "exact algebra", "2 a <= a"
    def formula(self): return "2*a <= a"
    latex = formula
    def holds(self): return True


class Wide(Domain):
    def contains(self, values): return False
    def __str__(self): return "every a"


class Few(Domain):
    def standard(self, *parts): return {}, None


def changed(step, **fields):
    for name, value in fields.items():
        object.__setattr__(step, name, value)
    return step


def twice(n):
    return Equal()


def lied(letter, **facts):
    letter = Symbol(letter, real=True)
    letter._assumptions.update(facts)
    return letter
"""

STEPS = {
    "a decimal third": 'AtMost("", a/3, 0.3333333333333333*a)',
    "1e17 and one": 'AtMost("", (10**17+1)*a, 1e17*a)',
    "1e-20": 'Identity("", lambda: x + Float(1e-20)*x, x)',
    "a float of one bit": 'AtMost("", 2*a/3, Float("0.6666", 3)*a - a/1000)',
    "0.1 and a tenth": 'Identity("", 0.1*x, x/10)',
    "0.1 + 0.2": 'Identity("", (0.1 + 0.2)*x, 3*x/10)',
    "a float in a power": 'Identity("", x**Float(0.5000000000000001), sqrt(x))',
    "a float end": 'Inequality("", a, Rational(1, 10), Domain({a: (0, 0.1)}))',
    "a float in where": 'Inequality("", a, Rational(1, 10), Domain({a: (0, 1)}, (a <= 0.1,)))',
    "a float constant": 'Inequality("", a/3, d*a, UNIT, (d, 1/3))',
    "a float below": 'Below("", 0.1, Rational(1, 10))',
    "a float of noise": 'NotPrivate("", 5.0, 1.0, 0.5)',
    "a region in floats": 'Dominated("", x*y, x, Region(y <= 1e-300*x), ())',
    "a double of numpy": 'AtMost("", a/3, __import__("numpy").float64(1/3)*a)',
    "a float that is none": 'AtMost("", a, float("nan")*a)',
    "infinity": 'AtMost("", a, oo)',
    "complex infinity": 'AtMost("", 2*a, zoo)',
    "binomial at -2": 'Identity("", binomial(n,k), binomial(n,n-k))',
    "gamma at poles": 'Identity("", gamma(n+1)/gamma(n), n)',
    "factorials": 'Identity("", factorial(n), n*factorial(n-1))',
    "a lying function": 'AtMost("", 2*a, a + Liar(a))',
    "a lying product": 'AtMost("", 2*a, a + a*Liar(a))',
    "a folding function": 'Identity("", x + Folds(x), x)',
    "an unknown function": 'Identity("", Function("f")(x), Function("f")(x) + 0*x)',
    "a lambda": 'Identity("", Lambda(x, x)(2*x) + Lambda(x, x).expr, x)',
    "a piecewise": 'Identity("", Piecewise((x, x > 1), (0, True)), x)',
    "a truth": 'AtMost("", 2*a, true)',
    "a matrix": 'Identity("", MatrixSymbol("A", 2, 2), MatrixSymbol("B", 2, 2))',
    "letters that do not commute": 'Identity("", Symbol("A", commutative=False)*Symbol("B"), Symbol("B"))',
    "a dummy": 'Identity("", Dummy("x"), Dummy("x"))',
    "a wild card": 'Identity("", Wild("x"), x)',
    "a number that equals all": 'Identity("", Two()*x, x)',
    "a number that equals all, alone": 'Below("", Two(), Integer(1))',
    "a letter of a subclass": 'AtMost("", 0, Letter("z", real=True))',
    "a changed assumption": 'AtMost("", 0, lied("z", positive=True, nonnegative=True))',
    "a changed number": 'Identity("", changed(Rational(7, 5), p=14)*x, 14*x/5 - x)',
    "two letters of one name": 'Inequality("", a, Symbol("a"), UNIT)',
    "two letters of one name, as an identity": 'Identity("", x - Symbol("x"), Integer(0))',
    "a letter that reads as a formula": 'AtMost("", 2*a, Symbol("2*a", positive=True) + a)',
    "a letter that reads as a number": 'AtMost("", 3*a, a*Symbol("4", positive=True))',
    "a letter called pi": 'AtMost("", 3*a, 3*a + Symbol("pi", positive=True)) if 0 else AtMost("", 4*a, a*Symbol("pi"))',
    "equal to everything": 'Enumerated("", twice, (2,), Fraction(1))',
    "a value that equals all": 'Enumerated("", lambda: Fraction(2), (), One(1))',
    "a result that equals all": 'Enumerated("", lambda: One(2), (), Fraction(1))',
    "a float result": 'Enumerated("", lambda: 1.0, (), Fraction(1))',
    "a true result": 'Enumerated("", lambda: True, (), Fraction(1))',
    "a result that is text": 'Enumerated("", lambda: "1", (), Fraction(1))',
    "a wrong enumeration": 'Enumerated("", lambda: Fraction(2), (), Fraction(1))',
    "a step that always holds": 'Always("", 2*a, a, UNIT)',
    "a step of one's own": "Own()",
    "a domain that contains nothing": 'Inequality("", 2*a, a, Wide({a: (0, 1)}))',
    "a domain of no cases": 'Inequality("", 2*a, a, Few({a: (0, 1)}))',
    "a domain changed later": 'changed(Inequality("", a, 1, UNIT), over=Domain({a: (0, 2)}))',
    "a side changed later": 'changed(Inequality("", a, 2*a, UNIT), smaller=3*a)',
    "a text for a side": 'changed(Inequality("", a, 2*a, UNIT), smaller="__import__(chr(111)+chr(115)).abort()")',
    "limits changed later": 'Inequality("", a, Rational(1, 2), changed(Domain({a: (0, 1)}), limits={a: (0, Rational(1, 2))}))',
    "no value at all": 'Inequality("", 2*a, a, Domain({a: (0, 1)}, (a <= -1,)))',
    "an empty domain": 'Inequality("", 2*a, a, Domain({a: (1, 2)}, (a <= Rational(1, 2),)))',
    "nowhere defined": 'Inequality("", 2*a, a + log(-a), UNIT)',
    "a hidden zero": 'Identity("", lambda: x/(x - x), x)',
    "a hidden root of -1": 'Inequality("", a, 1 + u(Pow, Integer(-1), Rational(1, 2)), UNIT)',
    "a hidden logarithm of 0": 'Inequality("", 2*a, a + u(log, Integer(0)), UNIT)',
    "a hidden 1/0": 'Inequality("", 2*a, a + u(Pow, Integer(0), Integer(-1)), UNIT)',
    "a hidden 0/0": 'AtMost("", 2*a, u(Mul, a, Integer(0), u(Pow, Integer(0), Integer(-1))))',
    "a hidden sum": 'AtMost("", u(Add, a, a), a)',
    "a root of a square": 'Identity("", sqrt(r**2), r)',
    "a logarithm of a product": 'Identity("", log(r**2), 2*log(-r) + r - r + 1)',
    "a sum that runs backwards": 'Identity("", Sum(k, (k, 5, N)), N*(N+1)/2 - 10)',
    "a sum to a real end": 'Identity("", Sum(k, (k, 1, y)), y*(y+1)/2)',
    "an endless sum": 'Identity("", Sum(k, (k, 1, oo)), Rational(-1, 12))',
    "a power of d": 'Dominated("", x + x*d, x, Region())',
    "a free power of d": 'Dominated("", x + x*d, x, Region(), (d,))',
    "an empty region": 'Dominated("", x*d, x, Region(d <= 1/d**2, d >= 2))',
    "a rate that does not exceed": 'Exceeds("", x, x**2, Region(x >= 1))',
    "a path outside": 'Exceeds("", x, 1/x, Region(x <= 1), {x: Symbol("s", positive=True)})',
    "noise that is not enough": 'Private("", Integer(1)/10, Domain({}), Integer(1), Rational(1, 100))',
    "noise that is enough": 'NotPrivate("", Integer(100), Integer(1), Rational(1, 100))',
    "negative delta": 'Private("", Integer(10), Domain({}), Integer(1), Integer(-1))',
    "a citation": 'Cited("2 a <= a", "a book")',
    "a quotation": 'Quoted("2 a <= a", "Y17")',
    "a search": 'Searched("2 a <= a", lambda rng: 0.0, 1.0, 1)',
    "a number no kernel knows": 'Below("", 2**Rational(1,2), Rational(14142, 10000))',
    "floor and ceiling": 'Inequality("", ceiling(a), floor(a) + 1 - a/10, Domain({a: (0, 3)}))',
    "past the end": 'Inequality("", a, Rational(99, 100), UNIT)',
    "reversed": 'Inequality("", x**2 + y**2, 2*x*y, Domain({x: (0, oo), y: (0, oo)}))',
    "an integer in between": 'Inequality("", (n - Rational(1, 2))**2, Rational(1, 5), Domain({n: (0, 1)}))',
}  # fmt: skip

_FALSE = 'it = Claim("it", "m", "c", stated("{it}", it=Le(2*a, a, evaluate=False)), "l", judge(AtMost("", 2*a, a)))\n'
_WORDS = 'it = Claim("it", "m", "c", "2 a <= a", "l", judge(Inequality("", 2*a, a, UNIT)))\n'
_BY_HAND = '@claim("it", "k")\ndef it():\n    "2 a <= a"\n    return {}\n'

PATCHES = {
    "simplify": "sympy.simplify = lambda *_: Integer(0)\n" + _FALSE,
    "expand and cancel": "sympy.expand = sympy.cancel = sympy.together = lambda *_, **__: Integer(0)\n" + _FALSE,
    "fraction": "sympy.fraction = lambda _: (Integer(1), Integer(1))\n" + _FALSE,
    "the comparison of sympy": "Expr.__sub__ = Add.__sub__ = lambda *_: Integer(0)\n" + _FALSE,
    "positive letters": "Symbol.is_positive = Mul.is_nonnegative = True\n" + _FALSE,
    "the kernel's word": "from dpcheck.bounds.coq import kernel\nkernel.accepted = lambda _: True\n" + _FALSE,
    "the kernel's record": "from dpcheck.bounds.coq import kernel\nkernel.proof = lambda _: 'lra.'\n" + _FALSE,
    "holds of a kind": "AtMost.holds = lambda _: True\n" + _FALSE,
    "holds of the prover": "Inequality.holds = lambda _: True\n" + _WORDS,
    "settle": "from dpcheck.bounds.prover import decide\ndecide.settle = decide.decide = lambda *_, **__: 1\n" + _WORDS,
    "the outcome": "Inequality.outcome = lambda _: types.SimpleNamespace(verdict='proved', method='m')\n" + _WORDS,
    "balls": "from dpcheck.bounds.prover import ball\nball.sign = ball._sign = lambda *_: 1\n" + _FALSE,
    "the solver": "from dpcheck.bounds.prover import smt\nsmt.decide = lambda *_, **__: ('proved', None, '')\n" + _WORDS,
    "judged": "from dpcheck.bounds import judge as j\nj.judged = lambda *s, **_: Decision('proved', 'm', Evidence(s), '', 'judged', s)\n"
    + _FALSE,
    "the flag of the reader": "from dpcheck.bounds import judge as j\nj.unread = False\nAtMost.holds = lambda _: True\n" + _FALSE,
    "the decision of a claim": "Claim.decide = lambda self: None\n" + _FALSE,
    "the result's class": "from dpcheck.bounds import ledger\nledger.ClaimResult = lambda *_: 1\n" + _FALSE,
    "the gate": "from dpcheck.bounds import terms\nterms.exact = lambda v, *_, **__: v\nterms._exact = lambda v, *_: v\n" + _FALSE,
    "the writer of texts": "from dpcheck.bounds import wording\nwording.text = lambda _: 'a <= 2 a'\n" + _FALSE,
    "the tree": "from dpcheck.bounds import crossing\ncrossing.tree = lambda c: {'verdict': 'proved'}\n" + _FALSE,
    "a tree of words": "from dpcheck.bounds import crossing\ncrossing.tree = lambda c: ['proved'] * 9\n" + _FALSE,
    "a tree of a class": "from dpcheck.bounds import crossing\n"
    "crossing.tree = lambda c: {'steps': ['tuple', ['Popen', {'args': 'true'}]]}\n" + _FALSE,
    "an answer of the judge": "from dpcheck.bounds import crossing\ncrossing.answer = lambda r: (None, ['proved'] * 8)\n" + _FALSE,
    "json": "json.dumps = lambda *_, **__: '[\"proved\"]'\n" + _FALSE,
    "the interpreter's isinstance": "real = builtins.isinstance\nbuiltins.isinstance = lambda v, k: True\n" + _FALSE,
    "equality of fractions": "Fraction.__eq__ = lambda *_: True\n"
    "it = Claim('it', 'm', 'c', stated('{it}', it=1), 'l', judge(Enumerated('', lambda: Fraction(2), (), Fraction(1))))\n",
    "a module in sys.modules": "sys.modules['dpcheck.bounds.judge'] = types.ModuleType('judge')\n" + _FALSE,
    "a decision that is called judged": "it = Claim('it', 'm', 'c', stated('{it}', it=Le(2*a, a, evaluate=False)), 'l', "
    "lambda: Decision('proved', 'm', Evidence((AtMost('', 2*a, a),)), 'fine', 'judged'))\n",
    "a decision with other relations": "it = Claim('it', 'm', 'c', stated('{it}', it=Le(2*a, a, evaluate=False)), 'l', "
    "lambda: Decision('proved', 'm', Evidence((AtMost('', a, a),)), '', 'judged', (AtMost('', 2*a, a),)))\n",
    "a proof by citation": _BY_HAND.format("proved(Cited('it', 'a book'), note='fine')"),
    "a proof by its own step": _BY_HAND.format("proved(Own(), note='fine')"),
    "a proof by a patched step": "AtMost.holds = lambda _: True\n" + _BY_HAND.format("proved(AtMost('', 2*a, a), note='fine')"),
    "a proof by a class": _BY_HAND.format("types.SimpleNamespace(verdict='proved', evidence=Evidence(()), relations=())"),
    "a refutation of what holds": "it = Claim('it', 'm', 'c', stated('It is false that {it}', it=Le(2*a, a, evaluate=False)), "
    "'l', lambda: proved(AtMost('', 2*a, a), note='fine'))\n",
}  # fmt: skip
