"""A sum of so many whole numbers: its sensitivity is rounded down."""

CASE = {
    "library": "opendp",
    "affected": "0.3.0",
    "mended": "0.4.0",
    "requires": ["opendp=={version}", "numpy<1.24"],
    "claim": "the relation of make_sized_bounded_sum(3, (-3, 4)): one of three numbers replaced moves the sum by 6",
    "fault": "half of the range times the distance is computed in whole numbers, which rounds the sensitivity down",
    "reported": "https://github.com/opendp/opendp/blob/main/CHANGELOG.md",
    "seen": "audit_sensitivity",
}


def _sum():
    from opendp.mod import enable_features
    from opendp.trans import make_sized_bounded_sum

    enable_features("contrib")
    return make_sized_bounded_sum(3, (-3, 4))


def query(data):
    return _sum()([int(value) for value in data])


def promised():
    transformation = _sum()
    return next(distance for distance in range(100) if transformation.check(2, distance))


def audit(run):
    import dpcheck

    return dpcheck.audit_sensitivity(run("query"), [0, 0, 0], [-3, 4], claimed=run("promised")(), budget=200)
