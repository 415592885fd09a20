"""Counts of explicit keys: all keys that no record has share one noise value."""

import functools

CASE = {
    "library": "opendp",
    "affected": "0.12.1",
    "mended": "0.13.0",
    "requires": ["opendp[polars]=={version}"],
    "claim": "epsilon 1, one record added or removed",
    "fault": "group_by(...).with_keys fills in one draw of noise for all missing keys: where two counts differ, one of "
    "the keys has a record",
    "reported": "https://github.com/opendp/opendp/issues/2344",
    "seen": "audit_privacy",
}


@functools.cache
def _measurement():
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.LazyFrame({"key": ["a", "b"]}), privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0), split_evenly_over=1,
    )  # fmt: skip
    keys = pl.LazyFrame({"key": ["a", "b", "c"]})
    return context.query().group_by("key").agg(dp.len()).with_keys(keys).resolve()  # in seconds, so once


def release(data, rng):
    import polars as pl

    counts = _measurement()(pl.LazyFrame({"key": data})).collect()
    return counts.sort("key")["len"].to_numpy().astype(float)


def audit(run):
    import dpcheck

    return dpcheck.audit_privacy(
        run("release"), ["a", "b"], ["a"], epsilon=1.0, trials=2_000, seeded=False, confidence=0.999
    )
