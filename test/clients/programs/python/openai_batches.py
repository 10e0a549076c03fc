"""The official SDK: files, batches, and the signature of webhooks."""

import json
import os
import time

import openai
from openai import OpenAI

from features import API_KEY, BASE_URL, MODELS, expect, failure, run

client = OpenAI(base_url=BASE_URL, api_key=API_KEY)


def files():
    stored = client.files.create(file=("lines.jsonl", b'{"n": 1}\n'), purpose="batch")
    expect(client.files.retrieve(stored.id) == stored, "the same file")
    expect(client.files.content(stored.id).read() == b'{"n": 1}\n', "its bytes")
    other = client.files.create(file=("lines.jsonl", b"{}\n"), purpose="batch")
    listed = [file.id for file in client.files.list(limit=1, purpose="batch", order="asc")]
    expect(listed.index(stored.id) < listed.index(other.id), "both, on pages of one")
    for file in (stored, other):
        expect(client.files.delete(file.id).deleted, "deleted")
    expect(isinstance(failure(client.files.retrieve, stored.id), openai.NotFoundError), "a 404")


def batches():
    lines = [
        {
            "custom_id": f"line-{i}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": model, "messages": [{"role": "user", "content": f"Line {i}."}]},
        }
        for i, model in enumerate([*MODELS, "no-such-model"])
    ]
    content = "\n".join(json.dumps(line) for line in lines).encode()
    file = client.files.create(file=("lines.jsonl", content), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"name": "nightly"},
    )
    expect(batch.id in [each.id for each in client.batches.list(limit=1)], "the batch in the list")
    ended = wait_for(batch.id)
    counts = ended.request_counts
    expect(ended.status == "completed" and (counts.completed, counts.failed) == (2, 1), "2 answers, 1 error")
    expect(ended.metadata == {"name": "nightly"}, "metadata")
    answers = read(ended.output_file_id)
    expect(sorted(answers) == ["line-0", "line-1"], "both answers")
    expect("Line 1." in json.dumps(answers["line-1"]), "the echo")
    expect(list(read(ended.error_file_id)) == ["line-2"], "the error")
    error = failure(client.batches.cancel, batch.id)
    expect(isinstance(error, openai.ConflictError), "a 409 for a batch that is over")


def wait_for(batch):
    latest = time.monotonic() + 120
    while time.monotonic() < latest:
        found = client.batches.retrieve(batch)
        if found.status in ("completed", "failed", "expired", "cancelled"):
            return found
        time.sleep(0.2)
    raise AssertionError("the batch does not end")


def read(file):
    lines = client.files.content(file).text.splitlines()
    return {line["custom_id"]: line for line in map(json.loads, lines)}


def webhooks():
    message = json.loads(os.environ["WEBHOOK_MESSAGE"])
    receiver = OpenAI(base_url=BASE_URL, api_key=API_KEY, webhook_secret=message["secret"])
    event = receiver.webhooks.unwrap(message["body"], message["headers"])
    expect(event.type == "batch.completed" and event.data.id == message["batch"], "the event")
    forged = message["body"].replace("batch.completed", "batch.cancelled")
    error = failure(receiver.webhooks.unwrap, forged, message["headers"])
    expect(isinstance(error, openai.InvalidWebhookSignatureError), f"a refusal, not {error!r}")


run(globals(), ["files", "batches", "webhooks"])
