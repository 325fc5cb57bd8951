"""What a campaign's aggregator makes of its votes; `annotation.pipeline.labelling.aggregate`."""

from __future__ import annotations

from math import log

from django.db import models

from annotation.models.campaign import Campaign, Triplet
from annotation.protocol.labels.claims import Claims

NEW_WORKER = ""


class Aggregation(models.Model):
    """The aggregator, as it was fitted last; of campaigns whose labels need no majority."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="aggregation")
    aggregator = models.CharField(max_length=20)
    why = models.TextField()
    known = models.JSONField(default=dict)  # how many known answers chose it, of each sort
    # Log-odds: before any vote, and by the worker's key of a vote for 0 and of one for 1; somebody
    # new is NEW_WORKER.
    prior = models.FloatField()
    rank_slope = models.FloatField(default=0.0)  # more of the prior, times the rank's logarithm
    weights = models.JSONField()
    # From claims to chances.
    offset = models.FloatField()
    slope = models.FloatField()
    # Their standard errors; null: the fit is older than these.
    offset_error = models.FloatField(null=True)
    slope_error = models.FloatField(null=True)
    error_correlation = models.FloatField(null=True)
    sampled = models.PositiveIntegerField(null=True)  # null: too few for a chance to be shown
    seen = models.JSONField()  # how much there was when it was fitted

    def __str__(self) -> str:
        return f"{self.aggregator} of {self.campaign}"

    def weights_of(self, worker: int) -> tuple[float, float]:
        of_0, of_1 = self.weights.get(str(worker), self.weights[NEW_WORKER])
        return of_0, of_1

    @property
    def claims(self) -> Claims:
        return Claims(self.aggregator, self.offset, self.slope, self.sampled, self.rank_slope)

    def prior_of(self, rank: int) -> float:
        return self.prior + self.rank_slope * log(rank)


class Posterior(models.Model):
    """What the aggregator claims of a triplet that has votes."""

    triplet = models.OneToOneField(
        Triplet, on_delete=models.CASCADE, primary_key=True, related_name="posterior"
    )
    log_odds = models.FloatField()  # of label 1

    def __str__(self) -> str:
        return f"{self.triplet}: {self.log_odds}"
