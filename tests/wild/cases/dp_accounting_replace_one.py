"""Replace-one RDP: the noise multiplier is taken per clipping norm where a record moves twice that."""

CASE = {
    "library": "dp-accounting", "affected": "0.6.0", "mended": "open",
    "requires": ["dp-accounting=={version}"],
    "claim": "RdpAccountant(REPLACE_ONE).get_epsilon(1e-5) of one Gaussian event with noise multiplier 1",
    "fault": "the same event means a sensitivity of one clipping norm for added or removed and for replaced records, "
    "where a replaced record moves a clipped sum by two",
    "reported": "https://github.com/google/differential-privacy/issues/378",
    "seen": "certify, against the library's own number",
    "assumption": "that noise_multiplier is the noise over the clipping norm, as in DP-SGD, and not over the "
    "distance of "
    "replaced records; the documentation leaves it open",
}  # fmt: skip


def promised():
    import dp_accounting
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    event = dp_accounting.SampledWithoutReplacementDpEvent(100, 100, dp_accounting.GaussianDpEvent(1.0))
    return float(accountant.compose(event).get_epsilon(1e-5))


def audit(run):
    import dpcheck
    from dpcheck.events import Gaussian

    # all 100 of 100 records, so that the sample hides nothing and the epsilon of the clipped sum is exact
    claimed, exact = run("promised")(), dpcheck.certify(Gaussian(0.5), delta=1e-5).epsilon
    words = f"exact epsilon {exact:.4g} of a sum clipped to 1 with noise 1, where the accountant says {claimed:.4g}"
    return "violated" if exact > claimed else "consistent", claimed, exact, words
