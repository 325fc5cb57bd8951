"""Fields of what is sent: a number is a number, and no text that looks like one."""

from typing import Any

from rest_framework import serializers


class Text(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Whole(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Share(serializers.FloatField):
    """From 0 to 1."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": 1, **about})

    def to_internal_value(self, data: Any) -> float:
        if not isinstance(data, int | float) or isinstance(data, bool):
            self.fail("invalid")
        try:
            return super().to_internal_value(data)
        except OverflowError:  # a whole number of some hundred digits
            self.fail("invalid")
