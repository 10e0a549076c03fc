"""Writes genai-prices.json: the data of the Python package genai-prices, which is newer than npm's.

    pip download --no-deps -d /tmp/genai genai-prices && python3 prices/snapshot.py /tmp/genai/genai_prices-*.whl
"""

import datetime
import hashlib
import json
import pathlib
import re
import sys
import types
import zipfile

# The price lists of packages/shared/src/contract/price-lists.ts. A test compares the two.
LISTS = (
    "openai anthropic aws azure cerebras cohere deepseek fireworks google groq minimax mistral moonshotai openrouter"
    " perplexity together x-ai zai"
).split()


def plain(value):
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if hasattr(value, "quantize"):  # a decimal
        return float(value) if value % 1 else int(value)
    if not hasattr(value, "__dict__"):
        return value
    # `or_` and `and_` are no names in Python. Fields that are not set are left out.
    fields = {key.rstrip("_"): plain(inner) for key, inner in vars(value).items()}
    return {key: inner for key, inner in fields.items() if inner is not None and key}


def model(info):
    facts = plain(info)
    names = ("id", "match", "context_window", "prices", "price_variants")
    return {name: facts[name] for name in names if name in facts}


def main(wheel):
    archive = zipfile.ZipFile(wheel)
    version = re.search(r"genai_prices-([\d.]+)-", wheel)[1]
    # Without the package's own start, which needs packages that its data does not.
    package = types.ModuleType("genai_prices")
    package.__path__ = [f"{wheel}/genai_prices"]
    sys.modules["genai_prices"] = package
    from genai_prices.data import providers

    found = {each.id: [model(info) for info in each.models] for each in providers if each.id in LISTS}
    # One model a line, so that a change is one line of a diff.
    lists = [
        f'    "{name}": [\n' + ",\n".join("      " + json.dumps(info) for info in found[name]) + "\n    ]"
        for name in LISTS
    ]
    digest = hashlib.sha256(pathlib.Path(wheel).read_bytes()).hexdigest()
    head = f'{{\n  "version": "{version}",\n  "sha256": "{digest}",\n  "providers": {{\n'
    target = pathlib.Path(__file__).with_name("genai-prices.json")
    target.write_text(head + ",\n".join(lists) + "\n  }\n}\n")
    print(f"{target.name}: genai-prices {version}, {sum(map(len, found.values()))} models")


main(sys.argv[1])
