"""Smallest FastAPI application, whose routes are the measure for those of the service."""

from fastapi import FastAPI

app = FastAPI()


@app.get("/async")
async def on_the_event_loop() -> dict[str, str]:
    return {}


@app.get("/sync")
def in_a_thread() -> dict[str, str]:
    return {}
