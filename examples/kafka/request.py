"""Asks for approval over Kafka and waits for what a person decides.

    pip install -r requirements.txt
    COUNTERSIGN_TOKEN=cs_... python request.py --brokers 127.0.0.1:9092 --run run-42 --path countersign-example.txt

With --execute the approved call is claimed over HTTP, checked against its digest, run and reported, as any worker does:
the event only says when to look. COUNTERSIGN_RESOLVER_TOKEN is a token of role resolver.
The outcome is what the ledger itself says, over HTTP.
"""

import argparse
import asyncio
import base64
import json
import os
import sys
import time
import uuid
from datetime import datetime, timezone
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from confluent_kafka import Consumer, Producer, TopicPartition


def main():
    options = parse_options()
    connection = {"bootstrap.servers": options.brokers, "client.id": "request.py"}
    # Before anything is asked, so that no answer can come too early to be heard.
    events = listen(connection, f"{options.prefix}.events.v1")
    request_id = options.id or str(uuid.uuid4())
    try:
        publish(connection, options, request_id, request_of(options))
        outcome = wait(events, options, request_id)
    finally:
        events.close()
    may_run = outcome["outcome"] in ("approved", "allowed")
    if may_run and options.execute:
        result = asyncio.run(execute(options, outcome["callId"]))
        outcome = {"outcome": result.status, "callId": result.call_id, "text": result.text}
        may_run = result.status == "succeeded"
    print(json.dumps({"requestId": request_id, **outcome}))
    return 0 if may_run else 1


async def execute(options, call_id):
    from countersign_client import Client, Gate

    token = os.environ["COUNTERSIGN_TOKEN"]
    async with Client(options.url, token, os.environ.get("COUNTERSIGN_RESOLVER_TOKEN")) as client:
        [asked] = request_of(options)["calls"]
        recorded = await client.tool_call(call_id)
        return await Gate(client, options.agent).finish(asked, recorded, delete_file)


def delete_file(arguments):
    os.remove(arguments["path"])
    return {"deleted": arguments["path"]}


def request_of(options):
    call = {
        "toolCallId": options.call,
        "toolName": "delete_file",
        "arguments": {"path": options.path},
        "needsApproval": True,
        "reason": "asked from Python",
    }
    return {"runId": options.run, "agentId": options.agent, "calls": [call]}


def publish(connection, options, request_id, data):
    # The same key must go to the same partition from every producer: the clients of Java and Node use murmur2.
    settings = {**connection, "acks": "all", "enable.idempotence": True, "partitioner": "murmur2_random"}
    producer = Producer(settings)
    value = json.dumps(data).encode()
    headers = {
        "content-type": "application/json",
        "ce_specversion": "1.0",
        "ce_id": request_id,
        "ce_source": f"/agents/{options.agent}",
        "ce_type": "ToolCallRequested",
        "ce_time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
    }
    if options.key is not None:
        headers["countersign-signature"] = sign(value, headers, options)
    failures = []
    producer.produce(
        f"{options.prefix}.requests.v1",
        key=options.run,
        value=value,
        headers=headers,
        on_delivery=lambda error, _message: failures.append(error) if error is not None else None,
    )
    if producer.flush(30) > 0 or failures:
        sys.exit(f"the request is not on the topic: {failures or 'no broker answers'}; ask again under --id {request_id}")


def sign(value, headers, options):
    """A detached JWS over the value, with an Ed25519 key in PEM."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with open(options.key, "rb") as file:
        key = load_pem_private_key(file.read(), password=None)
    protected = {
        "alg": "EdDSA",
        "kid": options.kid,
        "aud": f"{options.tenant}/{options.prefix}.requests.v1",
        "iat": int(time.time()),
        "ce_id": headers["ce_id"],
        "ce_type": headers["ce_type"],
    }
    header = base64url(json.dumps(protected).encode())
    return f"{header}..{base64url(key.sign(f'{header}.{base64url(value)}'.encode()))}"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def listen(connection, topic):
    """A consumer at the end of the topic. It commits nothing: what it missed, the ledger tells."""
    consumer = Consumer({**connection, "group.id": f"{topic}.{uuid.uuid4()}", "enable.auto.commit": False})
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    if not partitions:
        sys.exit(f"there is no topic {topic}: `countersign topics create` makes it")
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)[1] for number in partitions]
    consumer.assign([TopicPartition(topic, number, end) for number, end in zip(partitions, ends)])
    return consumer


def wait(events, options, request_id):
    """Waits for events of the run. An event only says when to look: whoever may write the topic can forge one."""
    seen = set()
    ends_at = time.monotonic() + options.timeout
    while time.monotonic() < ends_at:
        kind, identity, position, event = event_of(events.poll(0.5))
        # Every event comes once or more: repeats are told by their id, never by their order.
        if event is None or identity in seen:
            continue
        seen.add(identity)
        outcome = None
        if kind == "RequestRefused" and (event.get("data") or {}).get("requestId") == request_id:
            outcome = refusal(options, request_id, position)
        elif event.get("runId") == options.run:
            outcome = state(options, position) or state(options)
        if outcome is not None:
            return outcome
    return {"outcome": "no answer yet"}


def event_of(message):
    """Type, id, position and value of a message. The value is None for a message that is no event."""
    if message is None or message.error():
        return None, None, None, None
    try:
        headers = {name: value.decode() for name, value in message.headers() or []}
        event = json.loads(message.value())
        position = int(headers["ce_sequence"])
        is_event = isinstance(event, dict) and isinstance(event.get("data") or {}, dict)
        return headers["ce_type"], headers["ce_id"], position, event if is_event else None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None, None, None, None


def state(options, position=None):
    """What the ledger says about the call, once it is decided. Not older than the position, where the log has it."""
    headers = {} if position is None else {"countersign-position": str(position)}
    try:
        with read(options, f"/v1/runs/{quote(options.run, safe='')}", headers) as response:
            calls = json.load(response)["calls"]
    except (OSError, ValueError) as error:
        print(f"the ledger does not show the run now: {error!r}", file=sys.stderr)
        return None
    for call in calls:
        if call["toolCallId"] == options.call and call["state"] != "awaiting_approval":
            return {"outcome": call["state"], "callId": call["callId"]}
    return None


def refusal(options, request_id, position):
    """The refusal as the ledger's own log has it.

    The token must be of the principal that signs. Where no principal was proven, the log shows it to auditors alone.
    """
    try:
        with read(options, f"/v1/events?types=RequestRefused&after={position - 1}") as stream:
            line = next(line for line in stream if line.startswith(b"data:"))
        data = json.loads(line.removeprefix(b"data:"))["data"]
    except (OSError, ValueError, StopIteration) as error:
        print(f"the topic says that the request is refused; the ledger shows no refusal to this token: {error!r}", file=sys.stderr)
        return None
    return {"outcome": "refused", "code": data["code"], "detail": data["detail"]} if data["requestId"] == request_id else None


class NoRedirects(HTTPRedirectHandler):
    """urllib would send the token on to another server."""

    def redirect_request(self, *_):
        return None


def read(options, path, headers=None):
    token = os.environ.get("COUNTERSIGN_TOKEN", "")
    request = Request(options.url + path, headers={**(headers or {}), "authorization": f"Bearer {token}"})
    return build_opener(NoRedirects).open(request, timeout=3)


def parse_options():
    parser = argparse.ArgumentParser(description="Asks for approval over Kafka.")
    parser.add_argument("--brokers", default="127.0.0.1:9092")
    parser.add_argument("--url", default=os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:7400"))
    parser.add_argument("--prefix", default="countersign")
    parser.add_argument("--run", required=True, help="the run of the agent: the key of all its messages")
    parser.add_argument("--call", default="call_1", help="the id that the model gave to the call")
    parser.add_argument("--agent", default="python-agent")
    parser.add_argument("--path", default="countersign-example.txt")
    parser.add_argument("--id", help="the id of the request; the same one again is the same request")
    parser.add_argument("--kid", help="the name of the key to sign with")
    parser.add_argument("--tenant", default="default", help="the tenant of the key")
    parser.add_argument("--key", help="its private key, Ed25519 in PEM")
    parser.add_argument("--execute", action="store_true", help="delete the file once a person has approved it")
    parser.add_argument("--timeout", type=float, default=300, help="seconds to wait for an answer")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
