"""Linear scores of many records at once: inner products, and weighted sums of records.

A record's gradient in the weights of a linear score is a multiple of the record, so a clipped mean needs each
record twice, for its score and for its share of the sum, and no gradient of its own. Its norm needs |x|, which no
step changes: it is kept beside the record. Four records together read the weights once for all of them, and the sums
of 24 columns together stay in registers.

Records of a minibatch lie anywhere, and the processor reads ahead in a few places at a time: it is told which
records come next.

Four numbers at a time are dealt with in instructions of LLVM's, which knows them on every processor: with short rows
the compiler's own vectors cost as much in columns left over, in turning vectors into numbers and in finding the rows as
in arithmetic. The instructions look at no bounds. Where nothing is compiled they cannot be called, and no row is as
long as ``WIDTH``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic
from numba.extending import models, register_model
from numpy.typing import NDArray

from dpcheck.algorithms.kernels.jit import kernel

ir: Any = cgutils.ir  # type: ignore[attr-defined]  # LLVM's instructions
intrinsic: Any = _intrinsic  # a function of a context and more becomes one of the rest

WIDTH = 2**62 if config.DISABLE_JIT else 4  # type: ignore[attr-defined]  # fewer columns than this are for plain loops

_INDEX, _FOUR = ir.IntType(32), ir.VectorType(ir.DoubleType(), 4)
_ROW = types.CPointer(types.float64)
_FAST = ("contract", "nsz")


class _Four(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Four")


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FOUR)


_four = _Four()


def _address(context, builder, kind, a, i, pointer):  # type: ignore[no-untyped-def]
    first = a if kind == _ROW else context.make_array(kind)(context, builder, a).data
    return builder.bitcast(builder.gep(first, [i]), pointer.as_pointer())


def _shuffle(builder, a, b, lanes):  # type: ignore[no-untyped-def]
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INDEX, 4), lanes))


@intrinsic
def row(_, records, index, k):  # type: ignore[no-untyped-def]
    """Return the place of row index[k] >= 0; it may be subscripted, and loaded from."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        matrix = context.make_array(records)(context, builder, args[0])
        chosen = context.make_array(index)(context, builder, args[1])
        j = builder.load(builder.gep(chosen.data, [args[2]], inbounds=True))
        start = builder.mul(j, builder.extract_value(matrix.shape, 1), flags=("nsw",))
        return builder.gep(matrix.data, [start], inbounds=True)

    return _ROW(records, index, types.intp), build


@intrinsic
def load(_, a, i):  # type: ignore[no-untyped-def]
    """Load numbers i to i + 3 of a row or an array."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load(_address(context, builder, signature.args[0], args[0], args[1], _FOUR), align=8)

    return _four(a, types.intp), build


@intrinsic
def store(_, a, i, four):  # type: ignore[no-untyped-def]
    """Write numbers i to i + 3 of an array."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store(args[2], _address(context, builder, signature.args[0], args[0], args[1], _FOUR), align=8)
        return context.get_dummy_value()

    return types.void(a, types.intp, four), build


@intrinsic
def prefetch(_, a, b, c, d, i):  # type: ignore[no-untyped-def]
    """Ask memory for number i of four rows, and do not wait."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        byte = ir.IntType(8)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), _INDEX, _INDEX, _INDEX])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        for place in args[:4]:
            address = _address(context, builder, _ROW, place, args[4], byte)
            builder.call(function, [address, _INDEX(0), _INDEX(3), _INDEX(1)])  # to read, near, data
        return context.get_dummy_value()

    return types.void(a, b, c, d, types.intp), build


@intrinsic
def store_pairs(_, rows, i, first, second, k):  # type: ignore[no-untyped-def]
    """Write numbers i of four rows to ``first`` from k on, and numbers i + 1 to ``second``."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        two = ir.VectorType(ir.DoubleType(), 2).as_pointer()
        four = cgutils.unpack_tuple(builder, args[0])
        pairs = [builder.load(builder.bitcast(builder.gep(x, [args[1]]), two), align=8) for x in four]
        ac, bd = (_shuffle(builder, pairs[j], pairs[j + 2], [0, 1, 2, 3]) for j in (0, 1))
        for kind, array, lanes in ((first, args[2], [0, 4, 2, 6]), (second, args[3], [1, 5, 3, 7])):
            address = _address(context, builder, kind, array, args[4], _FOUR)
            builder.store(_shuffle(builder, ac, bd, lanes), address, align=8)
        return context.get_dummy_value()

    return types.void(rows, types.intp, first, second, types.intp), build


@intrinsic
def splat(_, number):  # type: ignore[no-untyped-def]
    """Repeat one number four times."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        empty = ir.Constant(_FOUR, ir.Undefined)
        return _shuffle(builder, builder.insert_element(empty, args[0], _INDEX(0)), empty, [0] * 4)

    return _four(types.float64), build


@intrinsic
def fma(_, a, b, c):  # type: ignore[no-untyped-def]
    """Return a b + c, rounded once where the processor can."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.fadd(builder.fmul(args[0], args[1], flags=_FAST), args[2], flags=_FAST)

    return _four(_four, _four, _four), build


@intrinsic
def sums(_, a, b, c, d):  # type: ignore[no-untyped-def]
    """Return the sum of each of four vectors."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        ab, cd = (
            builder.fadd(_shuffle(builder, x, y, [0, 4, 2, 6]), _shuffle(builder, x, y, [1, 5, 3, 7]))
            for x, y in (args[:2], args[2:])
        )
        return builder.fadd(_shuffle(builder, ab, cd, [0, 1, 4, 5]), _shuffle(builder, ab, cd, [2, 3, 6, 7]))

    return _four(_four, _four, _four, _four), build


_AHEAD = 8  # records are asked for this many records before they are needed
LINE = 8  # numbers in a line of the cache


def arranged(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows (x, y, |x|^2, 0, ...) of the records (x, y), which the kernels below read.

    A row begins with a line of the cache, so that nothing that is read at once lies in two. It is an odd number of
    lines long: the columns of rows a power of two apart would compete for the same few places in the cache.
    """
    n, columns = records.shape
    width = LINE * ((columns + LINE) // LINE | 1)
    numbers = np.zeros(n * width + LINE)
    begin = -(numbers.ctypes.data // numbers.itemsize) % LINE
    rows = numbers[begin : begin + n * width].reshape(n, width)
    rows[:, :columns] = records
    rows[:, columns] = np.einsum("ij,ij->i", records[:, :-1], records[:, :-1])
    return rows


class Scores(NamedTuple):
    """The parts of linear scores of records (x, y), in the order of the records."""

    y: NDArray[np.float64]
    h: NDArray[np.float64]  # <w, x>
    q: NDArray[np.float64]  # |x|^2


@kernel("int64(matrix)")
def chunk(rows):  # type: ignore[no-untyped-def]
    """Return how many rows to take between the two passes: they are still in a near cache when they come again."""
    return 128 if rows.shape[1] <= 32 else 32


@kernel("void(matrix, indices, int64, int64, vector, Scores)", apart=True)
def products(rows, index, count, d, w, scores):  # type: ignore[no-untyped-def]
    """Compute the scores of the first ``count`` rows of ``index``, arranged as above.

    x has d columns; w is as long as a row, with 0 after the weights; ``index`` may go on with the rows that are needed
    next.
    """
    y, h, q = scores
    width, fours = rows.shape[1], 0
    if width >= WIDTH:
        fours, zero = count - count % 4, splat(0.0)
        scattered = index[count - 1] - index[0] != count - 1  # the processor sees by itself what comes in order
        for k in range(0, fours, 4):
            n = min(k + _AHEAD, index.size - 4)
            next_a, next_b = row(rows, index, n), row(rows, index, n + 1)
            next_c, next_e = row(rows, index, n + 2), row(rows, index, n + 3)
            a, b, c, e = row(rows, index, k), row(rows, index, k + 1), row(rows, index, k + 2), row(rows, index, k + 3)
            h_a = h_b = h_c = h_e = zero
            for i in range(0, width, LINE):
                if scattered:
                    prefetch(next_a, next_b, next_c, next_e, i)
                u, v = load(w, i), load(w, i + 4)
                h_a, h_b = fma(u, load(a, i), h_a), fma(u, load(b, i), h_b)
                h_c, h_e = fma(u, load(c, i), h_c), fma(u, load(e, i), h_e)
                h_a, h_b = fma(v, load(a, i + 4), h_a), fma(v, load(b, i + 4), h_b)
                h_c, h_e = fma(v, load(c, i + 4), h_c), fma(v, load(e, i + 4), h_e)
            store(h, k, sums(h_a, h_b, h_c, h_e))
            store_pairs((a, b, c, e), d, y, q, k)
    for k in range(fours, count):
        j, h_k = index[k], 0.0
        for i in range(d):
            h_k += w[i] * rows[j, i]
        h[k], y[k], q[k] = h_k, rows[j, d], rows[j, d + 1]


@kernel("void(matrix, indices, int64, vector, vector)", apart=True)
def add_combination(rows, index, count, s, out):  # type: ignore[no-untyped-def]
    """Add the sum of s_k row_k over the first ``count`` rows of ``index`` to ``out``, which is as long as a row."""
    width = rows.shape[1]
    if width >= WIDTH:
        last = width - 4  # four columns that would go on beyond the last ones are the last ones once more
        for i in range(0, width, 24):
            i_0, i_1, i_2 = min(i, last), min(i + 4, last), min(i + 8, last)
            i_3, i_4, i_5 = min(i + 12, last), min(i + 16, last), min(i + 20, last)
            t_0, t_1, t_2 = load(out, i_0), load(out, i_1), load(out, i_2)
            t_3, t_4, t_5 = load(out, i_3), load(out, i_4), load(out, i_5)
            for k in range(count):
                x, u = row(rows, index, k), splat(s[k])
                t_0, t_1, t_2 = fma(u, load(x, i_0), t_0), fma(u, load(x, i_1), t_1), fma(u, load(x, i_2), t_2)
                t_3, t_4, t_5 = fma(u, load(x, i_3), t_3), fma(u, load(x, i_4), t_4), fma(u, load(x, i_5), t_5)
            for j, t in ((i_0, t_0), (i_1, t_1), (i_2, t_2), (i_3, t_3), (i_4, t_4), (i_5, t_5)):
                store(out, j, t)
    else:
        for k in range(count):
            for i in range(width):
                out[i] += s[k] * rows[index[k], i]
