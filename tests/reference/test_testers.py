"""The testers, each on what is right and on what is wrong by construction; one that never rejects is named."""

from __future__ import annotations

from dataclasses import replace

from dpcheck.algorithms.kernels import transcripts
from dpcheck.algorithms.kernels.parts import WITHOUT_REPLACEMENT
from reference import testers as stage


def test_all_testers_pass_and_one_that_never_rejects_is_named(monkeypatch):
    stage._first_wrong.cache_clear()
    assert next(stage.testers("x")).verdict == "consistent"
    for name in ("audit_noise_sample", "audit_sampling", "audit_constants"):
        original = getattr(stage, name)
        with monkeypatch.context() as patch:
            patch.setattr(
                stage, name,
                lambda *given, original=original, **more: replace(original(*given, **more), verdict="consistent"),
            )  # fmt: skip
            stage._first_wrong.cache_clear()
            found = next(stage.testers("x"))
        assert found.verdict == "violated"
        assert found.reason.startswith(f"{name} calls ")
    stage._first_wrong.cache_clear()


def test_where_a_looks_verdict_turns_is_looked_at(monkeypatch):
    monkeypatch.setattr(stage.Look, "breaks", property(lambda _: False))
    assert any("accepts epsilon" in told for told in stage.membership())


def test_the_score_of_transcripts_is_compared_with_densities(monkeypatch):
    """A score of the wrong sign, and one that leaves out how a record may be drawn twice."""
    assert list(stage.scores()) == []
    right = transcripts.log_ratio
    as_drawn_once = lambda *given: right(*given[:-1], given[-1]._replace(kind=WITHOUT_REPLACEMENT))  # noqa: E731
    for wrong in (lambda *given: -right(*given), as_drawn_once):
        monkeypatch.setattr(transcripts, "log_ratio", wrong)
        assert "whose likelihood ratio is" in next(stage.scores())
