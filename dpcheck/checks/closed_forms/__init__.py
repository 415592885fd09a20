"""The closed forms that problems declare, in the check of the algorithms that run on them, by a numerical route.

Bounds, gaps and rates are measured with saddle points, best responses and primal functions that a problem writes down:
one that is wrong moves what is measured, and no other stage need notice. Here each of them is held against the
problem's value and gradient kernels alone, by optimality conditions, differences and optimisers. All points come from
a fixed stream, so that verdicts are the same for every seed.
"""
