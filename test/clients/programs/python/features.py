"""What the programs of this folder have in common. Each prints one line per feature: its name, yes, no or none, a note."""

import asyncio
import inspect
import os
import time

from pydantic import BaseModel, Field

BASE_URL = os.environ["GATEWAY_URL"]
API_KEY = os.environ["GATEWAY_KEY"]
# A feature works when it works with all of these aliases.
MODELS = os.environ["GATEWAY_MODELS"].split(",")
# The only features to try, if there is such a list.
ONLY = os.environ.get("GATEWAY_FEATURES")
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TIMEOUT = 1.5
# Fields that callers set without a thought. Many models refuse some of them.
SETTINGS = {
    "temperature": 0.2,
    "max_tokens": 60,
    "stop": ["END"],
    "seed": 7,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.1,
    "user": "ann@example.com",
}

# In the common format, for the clients that take it.
TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "One."},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "Three."},
]
PICTURE_QUESTION = [
    {"type": "text", "text": "What is it?"},
    {"type": "image_url", "image_url": {"url": PICTURE}},
]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Person(BaseModel):
    name: str
    age: int = Field(ge=18)


FEATURES = (
    "plain turns tools structured images settings reasoning embeddings errors retries timeouts models streaming headers"
    " idempotency"
).split()


def once() -> dict[str, str]:
    return {"Idempotency-Key": f"python-{os.getpid()}-{time.monotonic_ns()}"}


def expect(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(f"expected {what}")


def failure(call, *args, **options) -> BaseException:
    """The error of the call, which has to fail."""
    try:
        call(*args, **options)
    except BaseException as error:  # noqa: BLE001
        return error
    raise AssertionError("expected an error")


async def failure_of(awaitable) -> BaseException:
    """The same, for what is awaited."""
    try:
        await awaitable
    except BaseException as error:  # noqa: BLE001
        return error
    raise AssertionError("expected an error")


async def tool_loop(ask) -> None:
    """An agent calls the tool by itself, and answers with what it got."""
    cities = []

    def get_weather(city: str) -> str:
        """The weather of a city."""
        cities.append(city)
        return "21 °C"

    for name in MODELS:
        answer = await ask(name, get_weather, "Please call get_weather.")
        expect("get_weather" in answer, "an answer after the tool")
    expect(len(cities) == len(MODELS), "one call each")


def run(features: dict, names: list[str] = FEATURES) -> None:
    """Takes the functions of the calling module; a feature that is not among them is one that the client has not."""
    for name in names:
        if ONLY and name not in ONLY.split(","):
            continue
        feature = features.get(name)
        if feature is None:
            print(f"{name}\tnone", flush=True)
            continue
        try:
            result = feature()
            if inspect.isawaitable(result):
                asyncio.run(result)
            print(f"{name}\tyes", flush=True)
        except BaseException as error:  # noqa: BLE001
            note = f"{type(error).__name__}: {error}".splitlines()[0]
            print(f"{name}\tno\t{note}", flush=True)
