"""Events, webhooks, and a receiver of them."""

from annotation.models import Delivery, Event, Webhook
from annotation.notifications.events import emit
from annotation.notifications.webhooks import new_secret


def webhook(url: str = "https://example.org/quorum", **about: object) -> Webhook:
    return Webhook.objects.create(url=url, secret=new_secret(), created_by="root", **about)


def delivered() -> Delivery:
    """To a webhook, as the log has it when all is over."""
    made = webhook()
    event = emit(Event.Type.RELEASE, {"release": 1})
    made.deliveries.update(state="done")
    return event.deliveries.get()
