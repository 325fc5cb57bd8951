"""A chart's table: as a file of comma-separated values, and as the rows of a page."""

import csv
import io

from django.http import HttpResponse
from django.template import Library
from django.utils.html import escape
from django.utils.http import content_disposition_header
from django.utils.safestring import SafeString, mark_safe

from annotation.analytics.campaign.charts import Chart
from core.files.csv_safety import harmless

register = Library()  # `charts` in templates


def as_csv(chart: Chart, name: str) -> HttpResponse:
    """`name` begins the file's name."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(chart.header)
    writer.writerows([harmless(cell) for cell in row] for row in chart.rows())
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    disposition = content_disposition_header(True, f"{name}-{chart.key}.csv")
    response["Content-Disposition"] = str(disposition)
    return response


def table_rows(chart: Chart) -> SafeString:
    """A page has thousands of cells, which take a template far longer."""
    head, cell = '<tr><th scope="row">%s</th>', '<td class="dash-number">%s</td>'
    pattern = f"{head}{cell * len(chart.series)}</tr>"
    rows = (["\N{EN DASH}" if value is None else value for value in row] for row in chart.rows())
    # Numbers and dashes need no escaping.
    return mark_safe("".join(pattern % (escape(label), *row) for label, *row in rows))  # noqa: S308


register.filter("table_rows", table_rows)
