"""DMS: event subscriptions, which moto does not know at all."""

import json
from typing import Any

from moto.dms.exceptions import ResourceNotFoundFault
from moto.dms.responses import DatabaseMigrationServiceResponse as Responses

from support.moto_gaps.patching import operation

_Subscription = dict[str, Any]
_held: dict[tuple[str, str], dict[str, _Subscription]] = {}


def _subscriptions(responses: Responses) -> dict[str, _Subscription]:
    return _held.setdefault((responses.current_account, responses.region), {})


def _subscription(given: dict[str, Any], account: str) -> _Subscription:
    return {
        "CustSubscriptionId": given["SubscriptionName"],
        "CustomerAwsId": account,
        "SnsTopicArn": given["SnsTopicArn"],
        "Status": "active",
        "SourceType": given.get("SourceType"),
        "SourceIdsList": given.get("SourceIds"),
        "EventCategoriesList": given.get("EventCategories"),
        "Enabled": given.get("Enabled", True),
    }


def close_gaps() -> None:
    """Patch ``aws_dms_event_subscription``."""

    @operation(Responses)
    def create_event_subscription(self: Responses) -> str:
        given, backend = json.loads(self.body), self.dms_backend
        name = given["SubscriptionName"]
        _subscriptions(self)[name] = _subscription(given, backend.account_id)
        backend.tagger.tag_resource(f"arn:aws:dms:{backend.region_name}:{backend.account_id}:es:{name}", given.get("Tags") or [])
        return json.dumps({"EventSubscription": _subscriptions(self)[name]})

    @operation(Responses)
    def modify_event_subscription(self: Responses) -> str:
        given, held = json.loads(self.body), _subscriptions(self)
        name = given["SubscriptionName"]
        if name not in held:
            raise ResourceNotFoundFault("Event subscription could not be found.")
        # The request of a change does not repeat the sources.
        given.setdefault("SourceIds", held[name]["SourceIdsList"])
        held[name] = _subscription(given, self.dms_backend.account_id)
        return json.dumps({"EventSubscription": held[name]})

    @operation(Responses)
    def describe_event_subscriptions(self: Responses) -> str:
        name, held = self._get_param("SubscriptionName"), _subscriptions(self)
        if name and name not in held:
            raise ResourceNotFoundFault("Event subscription could not be found.")
        return json.dumps({"EventSubscriptionsList": [held[name]] if name else list(held.values())})

    @operation(Responses)
    def delete_event_subscription(self: Responses) -> str:
        gone = _subscriptions(self).pop(self._get_param("SubscriptionName"), None)
        if not gone:
            raise ResourceNotFoundFault("Event subscription could not be found.")
        return json.dumps({"EventSubscription": gone})
