"""Figures: what is drawn are the numbers given; a broken promise looks different; the same bytes each time."""

from __future__ import annotations

import io
import math
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import dpcheck
from dpcheck import InputError, style
from dpcheck.report.drawing import RATES
from dpcheck.report.figures import figures, forest, over_bound, sandwiches
from dpcheck.report.findings import Finding, Report

INF, NAN = math.inf, math.nan


def svg(figure):
    """The figure as text, which says whether two of them are the same."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "dpcheck", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def lines(figure, marker=None):
    """Plotted points of a figure's first axes: (label, marker, x, y, colour), those of a marker where one is named."""
    found = []
    for line in figure.axes[0].get_lines():
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        found.append((line.get_label(), line.get_marker(), x.tolist(), y.tolist(), line.get_color()))
    return [each for each in found if marker is None or each[1] == marker]


def bars(container):
    """Ends of the error bars of a container : (points, 2)."""
    (collection,) = container.lines[2]
    return np.array([segment[:, 1] for segment in collection.get_segments()])


def words(figure):
    return figure.get_suptitle().replace("\n", " ").replace("\u00a0", " ")


def legend(figure):
    (found,) = [*figure.legends, *filter(None, [figure.axes[0].get_legend()])]
    return [text.get_text() for text in found.get_texts()]


def fits(figure):
    """Every text of a figure lies inside it, and no two tick labels of an axis overlap."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)

    def box(text):
        return text.get_window_extent(renderer)

    texts = [figure._suptitle, *figure.legends, *(text for axis in figure.axes for text in axis.texts)]
    for axis in filter(Axes.get_visible, figure.axes):
        texts += [axis.title, axis.xaxis.label, axis.yaxis.label, *filter(None, [axis.get_legend()])]
        for side, ends in ((axis.xaxis, sorted(axis.get_xlim())), (axis.yaxis, sorted(axis.get_ylim()))):
            ticks = [tick.label1 for tick in side.get_major_ticks() if ends[0] <= tick.get_loc() <= ends[1]]
            ticks = [tick for tick in ticks if tick.get_visible() and tick.get_text()]
            for i, one in enumerate(ticks):
                assert not any(box(one).overlaps(box(other)) for other in ticks[i + 1 :]), one.get_text()
            texts += ticks
    for text in (each for each in texts if not (isinstance(each, Text) and each.get_text() == "")):
        (left, low), (right, high) = box(text).get_points()
        assert -1 <= left <= right <= figure.bbox.width + 1, text
        assert -1 <= low <= high <= figure.bbox.height + 1, text
    return True


# Measured over bound


def risks(scale=0.3, sizes=(512, 1024, 2048), dims=(1, 4), **more):
    return [
        {"n": n, "d": d, "epsilon": 1.0, "measured": scale * d / n, "error": 0.02 / n, "bound": d / n, "runs": n,
         "measured/bound": scale, "predicted": d / n, "delta": n**-2.0} | more
        for n in sizes for d in dims
    ]  # fmt: skip


def test_measured_over_bound_is_drawn_with_two_standard_errors():
    rows = risks()
    rows[0]["measured"] *= 2
    figure = over_bound(rows[::-1])
    (one, four) = figure.axes[0].containers
    assert {one.get_label(), four.get_label()} == {"d = 1", "d = 4"}  # what is derived is no setting
    one = one if one.get_label() == "d = 1" else four
    assert one.lines[0].get_xdata().tolist() == [512, 1024, 2048]
    np.testing.assert_allclose(one.lines[0].get_ydata(), [0.6, 0.3, 0.3])
    np.testing.assert_allclose(bars(one), [[0.56, 0.64], [0.26, 0.34], [0.26, 0.34]])
    axis = figure.axes[0]
    assert (axis.get_yscale(), axis.get_ylim()[0] < 1 < axis.get_ylim()[1]) == ("log", True)
    assert any(y == [1.0, 1.0] for _, _, _, y, _ in lines(figure))
    assert words(figure) == "Measured is at most 0.6 times the bound, at n = 512, d = 1"


def test_means_that_are_not_positive_stand_at_the_foot():
    rows = [{"n": n, "measured": m, "error": 0.1, "bound": 1.0} for n, m in ((1, 0.5), (2, -0.1), (4, 0.0))]
    figure = over_bound(rows)
    ((label, _, x, _, _),) = lines(figure, "v")
    assert (label, x) == ("mean not positive", [2, 4])
    assert figure.axes[0].containers[0].lines[0].get_xdata().tolist() == [1]
    low, high = over_bound(rows[1:]).axes[0].get_ylim()  # none is positive
    assert 0 < low < 1 < high


@pytest.mark.parametrize("gap", [{"measured": NAN}, {"measured": None}, {"bound": 0.0}, {"bound": "inf"}])
def test_rows_without_numbers_are_counted(gap):
    figure = over_bound([*risks(), {"n": 1, "d": 1, "measured": 1.0, "error": 0.1, "bound": 1.0} | gap])
    assert words(figure).endswith("; rows left out for lack of numbers: 1")
    assert sum(len(each.lines[0].get_xdata()) for each in figure.axes[0].containers) == 6


# Exponents


def rate(theorem="zhang2022.theorem_3_3", factor="n", verdict="attained", **more):
    row = {
        "experiment": f"{theorem}.privacy", "algorithm": "output_perturbation", "theorem": theorem,
        "regime": "privacy", "factor": factor, "predicted": -1.1, "measured": -1.05, "low": -1.2, "high": -0.9,
        "claimed": -1.0, "largest": 0.3, "verdict": verdict, "seconds": 2.0,
    }  # fmt: skip
    return row | more


def many(count=40):
    papers = ("zhang2022.theorem_4_5", "yang2022.theorem_2a", "zhang2025.theorem_6", "xu2026.theorem_2")
    algorithms = ("phased_minimax_output_perturbation", "minimax_output_perturbation_joint", "dp_sgda")
    verdicts = ("attained", "contradicted", "untested", "not exceeded")
    return [
        rate(papers[i % 4], ("n", "d", "epsilon")[i // 4 % 3], verdicts[i % 7 % 4], experiment=f"e{i // 12}{i % 4}",
             algorithm=algorithms[i % 3], measured=-1 + i / 20, low=-1.1 + i / 20, high=-0.8 + i / 20)
        for i in range(count)
    ]  # fmt: skip


def test_a_row_shows_measured_predicted_and_claimed():
    figure = forest([rate()])
    ((_, _, (x,), (y,), _),) = lines(figure, "D")
    assert x == -1.1
    assert [each[2:4] for each in lines(figure, "o")] == [([-1.05], [y])]
    assert ([-1.2, -0.9], [y, y]) in [each[2:4] for each in lines(figure)]
    (claim,) = (each for each in figure.axes[0].collections if each.get_label() == "claimed by the theorem")
    assert claim.get_segments()[0][:, 0].tolist() == [-1.0, -1.0]
    ticks = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert ticks == ["zhang2022", "Theorem 3.3, privacy:\u00a0n"]
    assert figure.axes[0].get_yticks()[1] == y
    assert [text.get_text() for text in figure.axes[0].texts] == ["-1.05 [-1.20, -0.90]"]
    assert words(figure) == "Exponents: 1 attained"


def test_verdicts_are_told_apart_by_shape_and_colour_and_fill():
    known = ("attained", "contradicted", "untested", "not exceeded", "another word")
    figure = forest([rate(verdict=word, factor=f"{i}") for i, word in enumerate(known)])
    looks = {
        line.get_label(): (line.get_marker(), line.get_color(), line.get_markerfacecolor())
        for line in figure.axes[0].get_lines() if line.get_label().startswith("measured, ")
    }  # fmt: skip
    assert sorted(looks) == sorted(f"measured, {word}" for word in known)
    assert len(set(looks.values())) == len(known)
    stripes = [patch.get_y() + patch.get_height() / 2 for patch in figure.axes[0].patches]
    np.testing.assert_allclose(stripes, [figure.axes[0].get_yticks()[2]])  # behind the contradicted row alone
    said = "1 contradicted, 1 untested, 1 not exceeded, 1 attained, 1 another word"
    assert words(figure) == f"Exponents: {said}"


@pytest.mark.parametrize("infinity", [INF, "inf"])
def test_an_infinite_interval_ends_in_arrows(infinity):
    low = -infinity if infinity == INF else "-inf"
    figure = forest([rate(verdict="untested", low=low, high=infinity), rate(factor="d", measured=0.5)])
    assert [each[2] for each in lines(figure, "<")] == [[figure.axes[0].get_xlim()[0]]]
    assert [each[2] for each in lines(figure, ">")] == [[figure.axes[0].get_xlim()[1]]]
    assert all(np.isfinite(figure.axes[0].get_xlim()))


# Epsilon


def finding(id, audited, certified, claimed=1.0, **more):
    fields = {"kind": "privacy", "subject": "", "verdict": "", "reason": ""} | more
    return Finding(id, audited=audited, certified=certified, claimed=claimed, **fields)


FINDINGS = [
    finding("dp_sgda.repaired.poisson.transcript", 0.8, 0.95),
    finding("dp_sgda.repaired.poisson.output", 0.1, 0.95),
    finding("dp_spider.as_printed.transcript", 1.5, 4.0),
    finding("dp_rgda.as_printed.transcript", 0.7, 30.0),
    finding("nseg.repaired.transcript", 0.6, 0.5),
    finding("phased_dual.as_printed.transcript", 0.3, 0.4, 0.5),
]


def test_a_variant_is_one_row_from_its_largest_audit_to_its_certificate():
    figure = sandwiches(FINDINGS[:2])
    (y,) = figure.axes[0].get_yticks()
    found = {each[1]: each[2:] for each in lines(figure)}
    assert found["o"] == ([0.8], [y], style.MEASURED)
    assert found["^"] == ([0.1], [y], style.MEASURED)
    assert found["|"] == ([0.95], [y], style.MEASURED)
    assert ([0.8, 0.95], [y, y]) in [each[2:4] for each in lines(figure)]
    (claim,) = figure.axes[0].collections
    assert claim.get_segments()[0][:, 0].tolist() == [1.0, 1.0]
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["dp_sgda, repaired, poisson"]
    assert words(figure) == "1 variants: none audited or certified above the claim"


def test_what_no_claim_allows_stands_out():
    figure = sandwiches(FINDINGS)
    _, spider, rgda, nseg, half = figure.axes[0].get_yticks()
    red = {(each[1], tuple(each[2])): each[3][0] for each in lines(figure) if each[4] == style.ALARM}
    assert red == {
        ("o", (1.5,)): spider, ("None", (1.5, 4.0)): spider, ("None", (1.0, 30.0)): rgda, ("o", (0.6,)): nseg,
    }  # fmt: skip
    assert ([0.7, 1.0], [rgda, rgda], style.MEASURED) in [each[2:] for each in lines(figure)]
    stripes = [patch.get_y() + patch.get_height() / 2 for patch in figure.axes[0].patches]
    np.testing.assert_allclose(stripes, [spider])
    claims = {each.get_segments()[0][:, 1].mean(): each.get_segments()[0][0, 0] for each in figure.axes[0].collections}
    assert (claims[half], claims[spider]) == (0.5, 1.0)
    said = "1 audited above the claim, 1 audited above the certificate, 2 certified above the claim"
    assert words(figure) == f"5 variants: {said}"


def test_epsilons_beyond_the_axis_are_arrows_at_its_ends():
    found = [finding("a.b.transcript", 0.0, INF), finding("c.d.transcript", 0.5, 0.9), finding("e", None, None)]
    figure = sandwiches(found)
    left, right = figure.axes[0].get_xlim()
    assert (lines(figure, "<")[0][2], lines(figure, ">")[0][2]) == ([left], [right])
    assert 0 < left < 0.5 < 1 < right < INF
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["a, b", "c, d", "e"]


@pytest.mark.parametrize("claimed", [0.0, 1e-300, 1e300, INF])
def test_claims_that_no_axis_holds(claimed):
    figure = sandwiches([finding("a.b.output", 0.2, 0.4, claimed)])
    left, right = figure.axes[0].get_xlim()
    assert 0.1 < left < 0.2 < 0.4 < right < 1
    assert svg(figure)
    assert svg(sandwiches([finding("a.b.output", claimed / 4, claimed / 2, claimed)]))


def test_an_audit_that_found_nothing_is_an_arrow_of_its_own():
    figure = sandwiches([finding("a.b.transcript", 0.5, 0.9), finding("a.b.output", 0.0, 0.9)])
    assert [each[0] for each in lines(figure, "<")] == ["audited, output"]


def test_findings_that_are_not_about_an_epsilon_are_passed_over():
    others = [finding("a.b.output", 1.0, 1.0, None), finding("a.c.output", 1.0, 1.0, NAN),
              finding("a.d", 1.0, 1.0, kind="utility")]  # fmt: skip
    assert len(sandwiches([*others, *FINDINGS]).axes[0].get_yticks()) == 5
    with pytest.raises(InputError, match=r"^findings must hold one about privacy with a claimed epsilon, got none$"):
        sandwiches(others)


# All of them


def report(findings=(), tables=None):
    return Report(tuple(findings), ("dp_sgda",), "quick", 0, "0.1", 1.0, tables or {})


def test_a_report_has_the_figures_that_it_has_numbers_for():
    elsewhere = [row | {"epsilon": row["n"] / 512, "n": 9} for row in risks(dims=(1,))]
    tables = {RATES: [rate(high=INF)], "Risks": risks(), "Gaps": [{"n": 1, "gap": 2.0}], "None": [],
              "Same size": risks(sizes=(9,)), "Several epsilon": elsewhere}  # fmt: skip
    full = report(FINDINGS, tables)
    found = full.figures()
    assert list(found) == ["rates", "epsilon", "over bound, Risks", "over bound, Same size",
                           "over bound, Several epsilon"]  # fmt: skip
    assert found["over bound, Several epsilon"].axes[0].get_xlabel() == "epsilon"
    again = Report.from_json(full.to_json()).figures()
    assert {name: svg(each) for name, each in again.items()} == {name: svg(each) for name, each in found.items()}
    assert figures(report()) == {}
    assert report([finding("a.b.output", 1.0, None, None)], {RATES: [{"other": 1}]}).figures() == {}


@pytest.mark.parametrize("draw", ["forest", "one", "sandwiches", "over bound", "single"])
def test_no_text_is_cut_off_or_overlaps(draw):
    figure = {
        "forest": lambda: forest(many()),
        "one": lambda: forest([rate()]),
        "sandwiches": lambda: sandwiches(
            [finding(f"{name}.as_printed.transcript", 0.5, 0.7)
             for name in ("phased_minimax_output_perturbation", "dp_sgda", "minimax_output_perturbation_joint")],
        ),
        "over bound": lambda: over_bound(risks(dims=(1, 4, 16, 64), sizes=[2**k for k in range(14, 21)])),
        "single": lambda: over_bound(risks(dims=(1,), sizes=(65536,))),
    }[draw]()  # fmt: skip
    assert figure.get_figwidth() == style.PAGE
    assert fits(figure)
    assert figure.axes[0].bbox.width >= 0.4 * figure.bbox.width


# A run, and a fitted rate


@pytest.fixture(scope="module")
def run():
    return dpcheck.solve("dp_sgda", "quadratic", epsilon=1.0, delta=1e-5, steps=30, seed=1)


def test_a_run_shows_its_output_apart_from_the_iterates(run):
    frame = run.to_frame(1e-5)
    figure = run.plot(frame)
    names = [name for name in frame.columns if name != "iteration"]
    assert [axis.get_title() for axis in figure.axes] == [name.replace("_", " ") for name in names]
    for axis, name in zip(figure.axes, names, strict=True):
        iterates, output = axis.get_lines()
        assert (iterates.get_label(), output.get_label()) == ("iterates", "released output")
        assert iterates.get_xdata().tolist() == frame["iteration"][:-1].tolist()
        assert iterates.get_ydata().tolist() == frame[name][:-1].tolist()
        assert output.get_xdata().tolist() == frame["iteration"][-1:].tolist()
        assert output.get_ydata().tolist() == frame[name][-1:].tolist()
        assert iterates.get_marker() != output.get_marker()
        assert iterates.get_color() != output.get_color()
    assert legend(figure) == ["iterates", "released output"]
    assert fits(figure)


def gaps(law, **columns):
    n = np.repeat(2 ** np.arange(7, 13), 10)
    noise = 1 + 0.1 * np.random.default_rng(0).standard_normal(n.size)
    return pd.DataFrame({"n": n, "gap": law(n) * noise}).assign(**columns)


@pytest.mark.parametrize(("sign", "scale"), [(1, "log"), (-1, "linear")])
def test_means_of_a_fit_are_drawn_whatever_their_sign(sign, scale):
    frame = gaps(lambda n: sign / n)
    figure = dpcheck.fit_rate(frame, response="gap", factors=["n"], claimed={"n": -1}).plot()
    above = figure.axes[0]
    assert above.get_yscale() == scale
    drawn = above.containers[0].lines[0]
    np.testing.assert_allclose(drawn.get_ydata(), frame.groupby("n")["gap"].mean())
    assert fits(figure)


def test_a_fit_without_a_power_and_with_means_below_zero():
    frame = gaps(lambda n: 1 / n)
    frame.loc[frame["n"] > 1000, "gap"] *= -1
    figure = dpcheck.fit_rate(frame, response="gap", factors=["n"], claimed={"n": -1}).plot()
    ((label, _, x, _, _),) = lines(figure, "v")
    assert (label, x) == ("mean not positive", [1024, 2048, 4096])
    assert "nan" not in words(figure)
    assert fits(figure)
