"""python3-stripe: as it is (one attempt), or with RETRIES of its own."""

import os

import stripe
from calls import each


def make(call):
    stripe.api_key, stripe.api_base = "sk_test_x", call["base"]
    stripe.max_network_retries = int(os.environ.get("RETRIES", "0"))
    stripe.default_http_client = stripe.http_client.new_default_http_client(
        timeout=call["timeout_ms"] / 1000)
    key = {"idempotency_key": call["key"]} if call["key"] else {}
    charge = stripe.Charge.create(amount=100, currency="usd", description=call["token"], **key)
    return {"ok": True, "status": None, "text": str(charge)}


each(make)
