"""What the programs of this folder have in common. Each prints one line per feature: its name, yes, no or none, a note."""

import asyncio
import inspect
import os
import time

BASE_URL = os.environ["GATEWAY_URL"]
API_KEY = os.environ["GATEWAY_KEY"]
# One alias for each provider: a feature works when it works with both.
MODELS = ["fast", "claude"]
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TIMEOUT = 1.5
FEATURES = (
    "plain turns tools structured images errors retries timeouts models streaming headers idempotency".split()
)


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


def run(features: dict) -> None:
    """Takes the functions of the calling module; a feature that is not among them is one that the client has not."""
    for name in FEATURES:
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
