"""Four numbers at a time, in instructions of LLVM's, which knows them on every processor.

With short rows the compiler's own vectors cost as much in columns left over, in turning vectors into numbers and in
finding the rows as in arithmetic. These look at no bounds. Where nothing is compiled they cannot be called, and no
row is as long as ``WIDTH``.
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic
from numba.extending import models, register_model

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
