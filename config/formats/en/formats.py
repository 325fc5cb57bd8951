"""Dates as every page of the site shows them, in the lists of records, too."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i"
