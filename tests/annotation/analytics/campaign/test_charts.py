"""Charts that have nothing to show say so; all others have their figures in a table."""

import pytest
from django.template.loader import render_to_string
from lxml import html

from annotation.analytics.campaign.charts import Chart, Series


@pytest.mark.parametrize(
    ("series", "is_known"),
    [([], False), ([[None, None]], False), ([[None], [0]], True), ([[0.5], [None]], True)],
)
def test_a_chart_without_a_figure_is_not_drawn(
    series: list[list[float | None]], is_known: bool
) -> None:
    labels = [str(place) for place in range(len(series[0]) if series else 0)]
    lines = [Series("line", values) for values in series]
    chart = Chart("key", "Title", "line", "time", labels, lines)
    assert chart.is_known is is_known
    drawn = render_to_string("annotation/base/_chart.html", {"chart": chart, "csv": "/csv"})
    assert ("<canvas" in drawn, "CSV" in drawn) == (is_known, is_known)


def test_the_table_has_every_figure_and_a_dash_where_none_is_known() -> None:
    lines = [Series("seen", [0, 0.25, None]), Series("<b>left</b>", [None, 3, 4])]
    chart = Chart("key", "Title", "line", "time", ["noon", "<i>one</i>", "two"], lines)
    drawn = html.fromstring(render_to_string("annotation/base/_chart.html", {"chart": chart}))
    report = [[cell.text_content() for cell in row] for row in drawn.xpath("//table//tr")]
    assert report == [
        ["time", "seen", "<b>left</b>"],
        ["noon", "0", "\N{EN DASH}"],
        ["<i>one</i>", "0.25", "3"],
        ["two", "\N{EN DASH}", "4"],
    ]
