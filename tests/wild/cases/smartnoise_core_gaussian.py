"""The analytic Gaussian mechanism: a sign makes its noise far too small."""

CASE = {
    "library": "opendp-smartnoise-core", "affected": "0.1.0", "mended": "0.1.2",
    "requires": ["opendp-smartnoise-core=={version}", "numpy", "protobuf<3.21"],
    "python": "3.8",
    "claim": "epsilon 1, delta 1e-5 of the sum of 10 numbers in [0, 1], one of them replaced",
    "fault": "the scale of the analytic Gaussian mechanism is computed with a wrong sign: 0.016 where 3.73 is due",
    "reported": "https://github.com/opendp/smartnoise-core/issues/316",
    "seen": "audit_privacy",
}  # fmt: skip
EPSILON, DELTA = 1.0, 1e-5


def release(data, rng, size):
    import tempfile
    from pathlib import Path

    import numpy as np
    import opendp.smartnoise.core as sn

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        path.write_text("\n".join(["x", *map(str, data)]) + "\n", "utf-8")
        outputs = []
        for _ in range(size):
            with sn.Analysis(protect_floating_point=False) as analysis:
                numbers = sn.to_float(sn.Dataset(path=str(path), column_names=["x"])["x"])
                total = sn.dp_sum(
                    numbers, data_lower=0.0, data_upper=1.0, data_rows=len(data), mechanism="AnalyticGaussian",
                    privacy_usage={"epsilon": EPSILON, "delta": DELTA},
                )  # fmt: skip
            analysis.release()
            outputs.append(float(np.ravel(total.value)[0]))
    return np.array(outputs)


def audit(run):
    import dpcheck

    return dpcheck.audit_privacy(
        run("release"), [0.5] * 10, [0.5] * 9 + [1.0], epsilon=EPSILON, delta=DELTA, trials=2_000, vectorized=True,
        seeded=False, confidence=0.999,
    )  # fmt: skip
