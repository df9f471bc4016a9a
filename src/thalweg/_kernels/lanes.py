"""Several rows as one value of compiled code: what the processor calls a vector.

A loop over an array is turned into vectors by the compiler, but each of its results goes back to
memory, and arrays that might overlap are checked for it each time. Where an inner loop is short,
that is most of the work. A value of type ``Vector`` stays in registers instead. It has
``BYTES`` bytes, so many lanes of one dtype; ``+ - * /`` do the same in all of them, with numbers
in all lanes alike. Arrays are read and written from a flat index on, without any check.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, overload, register_model

# Two registers of the widest kind, so that there is something to do while a result is awaited;
# with narrower registers there are more of them, and still enough.
BYTES = 128


class Vector(types.Type):
    """Numba's type of a value that has many lanes."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.width = 8 * BYTES // dtype.bitwidth
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Any) -> None:
        number = manager.lookup(vector.dtype).get_value_type()
        super().__init__(  # type: ignore[no-untyped-call]
            manager, vector, ir.VectorType(number, vector.width)
        )


def _place(context: Any, builder: Any, sig: Any, args: Any, vector: Any) -> Any:
    """Return the pointer to the vector in the first argument, an array, from the second on."""
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    start = builder.gep(data, [args[1]])
    return builder.bitcast(start, context.get_value_type(vector).as_pointer())


def _require_flat(array: Any) -> None:
    if not isinstance(array, types.Array) or array.layout != "C":
        raise TypingError(f"a contiguous array was expected, but {array} came")


def _load(typing: Any, array: Any, start: Any) -> Any:
    """Return the entries of an array from a flat index on."""
    _require_flat(array)
    vector = Vector(array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _place(context, builder, sig, args, vector)
        return builder.load(place, align=array.dtype.bitwidth // 8)

    return vector(array, types.intp), generate


load: Any = intrinsic(_load)


def _store(typing: Any, array: Any, start: Any, vector: Any) -> Any:
    """Write a vector to an array from a flat index on."""
    _require_flat(array)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _place(context, builder, sig, args, vector)
        builder.store(args[2], place, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


store: Any = intrinsic(_store)


def _fill(typing: Any, number: Any, array: Any) -> Any:
    """Return a number in all lanes, in the dtype of an array."""
    vector = Vector(array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _filled(context, builder, vector, args[0])

    return vector(array.dtype, array), generate


fill: Any = intrinsic(_fill)


def _filled(context: Any, builder: Any, vector: Any, number: Any) -> Any:
    kind = context.get_value_type(vector)
    first = builder.insert_element(
        ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0)
    )
    return builder.shuffle_vector(
        first, first, ir.Constant(ir.VectorType(ir.IntType(32), vector.width), None)
    )


def _elementwise(make: Callable[[Any, Any, Any], Any]) -> Any:
    """Return a function of two vectors, or of a vector and a number for all its lanes."""

    @intrinsic
    def function(typing: Any, a: Any, b: Any) -> Any:
        vector = a if isinstance(a, Vector) else b
        kinds = [kind if isinstance(kind, Vector) else vector.dtype for kind in (a, b)]

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            sides = [
                side if isinstance(kind, Vector) else _filled(context, builder, vector, side)
                for kind, side in zip(kinds, args, strict=True)
            ]
            return make(builder, *sides)

        return vector(*kinds), generate

    return function


def _arithmetic(name: str, *symbols: Any) -> None:
    """Let symbols between vectors be an instruction; a product and a sum may become one."""
    function = _elementwise(lambda builder, a, b: getattr(builder, name)(a, b, flags=("contract",)))

    def chosen(a: Any, b: Any) -> Any:
        if isinstance(a, Vector) or isinstance(b, Vector):
            return lambda a, b: function(a, b)
        return None

    for symbol in symbols:
        overload(symbol, strict=False)(chosen)


_arithmetic("fadd", operator.add, operator.iadd)
_arithmetic("fsub", operator.sub, operator.isub)
_arithmetic("fmul", operator.mul, operator.imul)
_arithmetic("fdiv", operator.truediv, operator.itruediv)


def _marks(builder: Any, condition: Any, like: Any) -> Any:
    return builder.uitofp(condition, like.type)


larger = _elementwise(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
above = _elementwise(lambda builder, a, b: _marks(builder, builder.fcmp_ordered(">", a, b), a))


def _total(typing: Any, vector: Any) -> Any:
    """Return the sum over the lanes."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.get_value_type(vector)
        letter = "f64" if vector.dtype.bitwidth == 64 else "f32"
        add = builder.module.declare_intrinsic(
            f"llvm.vector.reduce.fadd.v{vector.width}{letter}",
            fnty=ir.FunctionType(kind.element, [kind.element, kind]),
        )
        zero = ir.Constant(kind.element, 0.0)
        return builder.call(add, [zero, args[0]], fastmath=("reassoc",))

    return vector.dtype(vector), generate


total: Any = intrinsic(_total)
