"""What the Python client programs share: the calls that they are to make, one process each,
all at once, and one line of JSON for each that says how it ended. It never repeats anything:
that is for the client."""

import json
import os

TEXT_MAX = 1000  # a line must fit into one write to a pipe


def each(make):
    """make(call) -> {"ok", "status", "text"}; it may raise, which is a failure."""
    children = []
    for index, call in enumerate(json.loads(os.environ["CALLS"])):
        child = os.fork()
        if child == 0:
            tell(index, make, call)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def tell(index, make, call):
    try:
        result = make(call)
    except Exception as error:  # noqa: B902 - how the call ended
        result = {"ok": False, "status": getattr(error, "http_status", None), "text": str(error)}
    result.update(call=index, text=result["text"][:TEXT_MAX])
    os.write(1, (json.dumps(result) + "\n").encode())
    os._exit(0)
