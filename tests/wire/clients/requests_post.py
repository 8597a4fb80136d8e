"""python3-requests: plain, or (MODE=retry) with urllib3's Retry for every method."""

import os

import requests
from calls import each
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry


def make(call):
    session = requests.Session()
    if os.environ.get("MODE") == "retry":
        retry = Retry(total=3, allowed_methods=None, status_forcelist=[500, 502, 503, 504],
                      backoff_factor=0.1)
        session.mount("http://", HTTPAdapter(max_retries=retry))
    headers = {"Idempotency-Key": call["key"]} if call["key"] else {}
    response = session.post(call["base"] + "/orders", json={"order": call["token"]},
                            headers=headers, timeout=call["timeout_ms"] / 1000)
    return {"ok": response.ok, "status": response.status_code, "text": response.text}


each(make)
