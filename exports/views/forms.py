"""What somebody can ask of a release."""

from django import forms

WAYS = [
    (
        "clusters",
        "Near-duplicate queries stay together: none of them is in train and in test at once",
    ),
    ("random", "At random, as in the paper: near-duplicates may lie on both sides"),
]


class BuildForm(forms.Form):
    split = forms.ChoiceField(
        label="Splits", choices=WAYS, widget=forms.RadioSelect, initial="clusters"
    )
    judgments = forms.BooleanField(
        label="With the judgments of each annotator, under salted names",
        required=False,
        initial=True,
    )
    partial = forms.BooleanField(
        label="Even if triplets are still open: they are left out", required=False
    )
