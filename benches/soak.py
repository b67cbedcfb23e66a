#!/usr/bin/env python3
"""A soak of the real binary under mixed load: hits, misses, streams, callers that leave.

    cargo build --release && python3 benches/soak.py --seconds 240

Standard library only. Prints memory every ten seconds and fails when it is not flat (the last third may exceed the
middle third by 10% at most), when an answer is wrong, or when the service does not shut down cleanly.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import statistics
import sys
import tempfile
import time

STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def read_request(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.I)
    body = await reader.readexactly(int(length.group(1))) if length else b""
    return head, body


def piece(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


async def provider(reader, writer):
    """A provider that echoes the question, as JSON or as a paced event stream."""
    try:
        while True:
            _, body = await read_request(reader)
            request = json.loads(body)
            answer = "You asked: " + request["messages"][-1]["content"]
            if request.get("stream"):
                writer.write(STREAM_HEAD)
                for word in [*re.findall(r"\S+\s*", answer), None]:
                    delta, finish = ({}, "stop") if word is None else ({"content": word}, None)
                    event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "soak",
                             "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
                    writer.write(piece(b"data: " + json.dumps(event).encode() + b"\n\n"))
                    await writer.drain()
                    await asyncio.sleep(0.002)
                writer.write(piece(b"data: [DONE]\n\n") + b"0\r\n\r\n")
            else:
                await asyncio.sleep(0.02)
                reply = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "soak", "choices": [
                    {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(reply), reply))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


SUBJECTS = ["heat pump", "solar panel", "battery", "router", "thermostat", "inverter", "meter", "charger"]
ACTIONS = ["reset", "clean", "mount", "move", "update", "pair", "name", "inspect"]


def question(fresh):
    subject, action = random.choice(SUBJECTS), random.choice(ACTIONS)
    number = random.randrange(10**9) if fresh else random.randrange(40)
    return f"How do I {action} the {subject} of unit {number}?"


def content(text, stream):
    if not stream:
        return json.loads(text)["choices"][0]["message"]["content"]
    events = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"].get("content") or "" for event in events if event["choices"])


def unchunked(rest):
    whole = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            return whole
        whole, rest = whole + rest[:length], rest[length + 2:]


async def call(port, counts):
    asked, stream = question(random.random() < 0.3), random.random() < 0.5
    leaves = random.random() < 0.1
    body = json.dumps({"model": "soak", "stream": stream, "messages": [{"role": "user", "content": asked}]}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
                     b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        if leaves:
            await asyncio.sleep(random.random() * 0.03)
            counts["left"] += 1
            return
        reply = await asyncio.wait_for(reader.read(), 30)
    finally:
        writer.close()
    head, _, rest = reply.partition(b"\r\n\r\n")
    if b"chunked" in head.lower():
        rest = unchunked(rest)
    outcome = re.search(rb"x-refrain-outcome: (\w+)", head).group(1).decode()
    counts[outcome] = counts.get(outcome, 0) + 1
    got = content(rest.decode(), stream)
    if got != "You asked: " + asked:
        counts["wrong"] += 1
        print(f"WRONG: asked {asked!r}, got {got!r}", file=sys.stderr)


async def worker(port, until, counts):
    while time.monotonic() < until:
        try:
            await call(port, counts)
        except (ConnectionError, asyncio.TimeoutError, AttributeError, ValueError) as error:
            counts["failed"] += 1
            print(f"FAILED: {error!r}", file=sys.stderr)


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


async def watch(pid, until, samples):
    while time.monotonic() < until:
        samples.append(resident_mib(pid))
        if len(samples) % 10 == 1:
            print(f"{len(samples):4} s  {samples[-1]:7.1f} MiB", flush=True)
        await asyncio.sleep(1)


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=int, default=240)
    arguments.add_argument("--callers", type=int, default=16)
    arguments.add_argument("--binary", default="target/release/refrain")
    options = arguments.parse_args()
    server = await asyncio.start_server(provider, "127.0.0.1", 0)
    base = "http://127.0.0.1:%d/v1" % server.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "refrain.toml")
        with open(config, "w") as file:
            file.write(f'[server]\nlisten = "127.0.0.1:0"\n[store]\ndata_dir = "{folder}/data"\nsweep_every = "5s"\n'
                       f'[log]\nfilter = "warn"\n[caches.default]\nmax_entries = 2000\n'
                       f'[[upstreams]]\nname = "soak"\ndialect = "openai"\nbase_url = "{base}"\n')
        service = await asyncio.create_subprocess_exec(
            options.binary, "serve", "--config", config, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        line = (await asyncio.wait_for(service.stdout.readline(), 60)).decode()
        port = int(line.rsplit(":", 1)[1])
        counts, samples = {"wrong": 0, "failed": 0, "left": 0}, []
        until = time.monotonic() + options.seconds
        await asyncio.gather(watch(service.pid, until, samples), *(worker(port, until, counts) for _ in range(options.callers)))
        await asyncio.sleep(2)
        service.send_signal(signal.SIGTERM)
        _, log = await asyncio.wait_for(service.communicate(), 60)
    third = len(samples) // 3
    middle, last = statistics.median(samples[third:2 * third]), statistics.median(samples[2 * third:])
    print(json.dumps(counts), f"memory: middle third {middle:.1f} MiB, last third {last:.1f} MiB, exit {service.returncode}")
    stuck = b"still running" in log or b"panic" in log
    if stuck:
        print(log.decode(), file=sys.stderr)
    good = not (counts["wrong"] or counts["failed"] or stuck or service.returncode) and last <= middle * 1.10
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    sys.exit(0 if good else 1)


asyncio.run(main())
