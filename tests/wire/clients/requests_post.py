"""python3-requests: plain, or (MODE=retry) with urllib3's Retry for every method.

It prints one line of JSON that says how the call ended."""

import json
import os

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry


def call():
    session = requests.Session()
    if os.environ.get("MODE") == "retry":
        retry = Retry(total=3, allowed_methods=None, status_forcelist=[500, 502, 503, 504],
                      backoff_factor=0.1)
        session.mount("http://", HTTPAdapter(max_retries=retry))
    response = session.post(os.environ["BASE"] + "/orders", json={"order": os.environ["TOKEN"]},
                            headers={"Idempotency-Key": os.environ["KEY"]},
                            timeout=int(os.environ["TIMEOUT_MS"]) / 1000)
    return {"ok": response.ok, "status": response.status_code, "text": response.text}


try:
    print(json.dumps(call()))
except requests.RequestException as error:
    print(json.dumps({"ok": False, "status": None, "text": str(error)}))
