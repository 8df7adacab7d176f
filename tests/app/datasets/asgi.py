"""Requests sent directly to the application, because a client would collect the whole body first."""

import asyncio


def post_csv(app, query, events):
    """Send POST /datasets with these ASGI events as its body. Return the status and the body of the answer."""
    remaining, sent = iter(events), []

    async def receive():
        return next(remaining)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/datasets", "query_string": query, "root_path": "",
        "scheme": "http", "http_version": "1.1", "server": ("test", 80), "client": ("test", 1),
        "headers": [(b"content-type", b"text/csv")],
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
