import json
import os
from urllib.request import Request, urlopen

request = Request(
    os.environ["GATEWAY_URL"] + "/chat/completions",
    data=json.dumps({"model": "fast", "messages": [{"role": "user", "content": "Say hello."}]}).encode(),
    headers={"authorization": "Bearer " + os.environ["GATEWAY_KEY"], "content-type": "application/json"},
)
with urlopen(request, timeout=300) as response:
    print(json.load(response)["choices"][0]["message"]["content"])
    print("Served by " + response.headers["x-gateway-provider"] + ".")
