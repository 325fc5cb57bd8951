"""What somebody can ask of a release."""

from typing import Any

from django import forms

from annotation.models import Campaign
from annotation.protocol.estimates.certificate import LEAST_CERTIFIED, MOST_CERTIFIED
from exports.building.options import Options

WAYS = [
    (
        "clusters",
        "Near-duplicate queries stay together: none of them is in train and in test at once",
    ),
    ("random", "At random, as in the paper: near-duplicates may be in both train and test"),
]


class BuildForm(forms.Form):
    """The first release chooses how queries are split: published ones keep their splits."""

    split = forms.ChoiceField(
        label="Splits", choices=WAYS, widget=forms.RadioSelect, initial="clusters"
    )
    judgments = forms.BooleanField(
        label="Include individual judgments (pseudonymised)",
        required=False,
        initial=True,
    )
    partial = forms.BooleanField(
        label="Allow an incomplete campaign (open triplets are omitted)", required=False
    )
    certify = forms.FloatField(
        label="Certify the labels: at most this share is wrong",
        help_text="Such as 0.05. Empty: no certificate. Experts have to judge enough at random.",
        required=False,
        min_value=LEAST_CERTIFIED,
        max_value=MOST_CERTIFIED,
    )

    def __init__(self, campaign: Campaign, data: Any = None) -> None:
        super().__init__(data)
        last = campaign.releases.order_by("number").last()
        self.way = last.options["split"] if last else None
        if self.way:
            del self.fields["split"]

    def options(self) -> Options:
        """Of a valid form."""
        return Options.from_dict({"split": self.way} | self.cleaned_data)
