"""The official OpenAI client for Python in front of Refrain: misses, hits, streams, errors."""

import asyncio
import sys
import time

import openai
from openai import AsyncOpenAI, OpenAI

base = sys.argv[1]
client = OpenAI(base_url=f"{base}/v1", api_key="sk-test", max_retries=0)


def ask(text, **more):
    return dict(model="alpha-small", messages=[{"role": "user", "content": text}], **more)


def outcome(raw):
    return raw.headers["x-refrain-outcome"]


miss = client.chat.completions.with_raw_response.create(**ask("How do I reset my password?"))
time.sleep(0.5)  # until another wording finds it
hit = client.chat.completions.with_raw_response.create(**ask("How can I reset my password?"))
assert (outcome(miss), outcome(hit)) == ("miss", "hit"), (miss.headers, hit.headers)
one, other = miss.parse(), hit.parse()
assert one.choices[0].message.content == other.choices[0].message.content
assert one.id != other.id and other.created > one.created
assert other.choices[0].finish_reason == "stop" and other.usage.total_tokens == 13

streams = []
for _ in range(2):
    raw = client.chat.completions.with_raw_response.create(
        **ask("Define ROM.", stream=True, stream_options={"include_usage": True})
    )
    chunks = list(raw.parse())
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert chunks[0].choices[0].delta.role in ("assistant", None)
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert len({c.id for c in chunks}) == 1
    streams.append((outcome(raw), text))
assert streams == [("miss", streams[0][1]), ("hit", streams[0][1])], streams

with client.chat.completions.stream(**ask("Define ROM.")) as stream:
    final = stream.get_final_completion()
assert final.choices[0].message.content == streams[0][1]

try:
    client.chat.completions.create(**ask("fail with 429"))
    raise AssertionError("no error")
except openai.RateLimitError as error:
    assert error.body["message"] == "slow down", error.body
    assert error.response.headers["retry-after"] == "2"

try:
    client.chat.completions.create(**ask("Define RAM."), extra_headers={"x-refrain-ttl": "soon"})
    raise AssertionError("no error")
except openai.BadRequestError as error:
    assert "x-refrain-ttl" in error.message, error.message

try:
    client.chat.completions.create(**ask("Define RAM."), extra_headers={"cache-control": "only-if-cached"})
    raise AssertionError("no error")
except openai.InternalServerError as error:
    assert error.status_code == 504

named = OpenAI(base_url=f"{base}/caches/faq/v1", api_key="sk-test", max_retries=0)
assert outcome(named.chat.completions.with_raw_response.create(**ask("Define ROM."))) == "miss"


async def at_once():
    async with AsyncOpenAI(base_url=f"{base}/v1", api_key="sk-test", max_retries=0) as many:
        answers = await asyncio.gather(*(many.chat.completions.create(**ask("Define a shared word.")) for _ in range(8)))
    assert len({answer.choices[0].message.content for answer in answers}) == 1


asyncio.run(at_once())
print("ok")
