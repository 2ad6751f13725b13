"""Asks for approval over Kafka and waits for what a person decides.

    pip install -r requirements.txt
    COUNTERSIGN_TOKEN=cs_... python request.py --brokers 127.0.0.1:9092 --run run-42 --path countersign-example.txt

With --execute the approved call is claimed over HTTP, checked against its digest, run and reported, as any worker does:
the event only says when to look. COUNTERSIGN_RESOLVER_TOKEN is a token of role resolver.
That a request is refused is believed when the ledger says so itself, over HTTP too.
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
from urllib.request import Request, urlopen

from confluent_kafka import Consumer, Producer, TopicPartition

ENDS = {
    "ApprovalExpired",
    "ToolCallBlocked",
    "ToolCallCancelled",
    "ToolCallAllowed",
}


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
    may_run = outcome["outcome"] in ("approved", "ToolCallAllowed")
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
    seen = set()
    ends_at = time.monotonic() + options.timeout
    while time.monotonic() < ends_at:
        message = events.poll(0.5)
        if message is None or message.error():
            continue
        headers = {name: value.decode() for name, value in message.headers() or []}
        # Every event comes once or more: repeats are told by their id, never by their order.
        if headers["ce_id"] in seen:
            continue
        seen.add(headers["ce_id"])
        event = json.loads(message.value())
        if headers["ce_type"] == "RequestRefused" and event["data"].get("requestId") == request_id:
            event = recorded(options, headers["ce_sequence"])
        outcome = event and outcome_of(headers["ce_type"], event, options.run, request_id)
        if outcome is not None:
            return outcome
    return {"outcome": "no answer yet"}


def outcome_of(event_type, event, run_id, request_id):
    data = event["data"]
    if event_type == "RequestRefused" and data.get("requestId") == request_id:
        return {"outcome": "refused", "code": data["code"], "detail": data["detail"]}
    if event["runId"] != run_id:
        return None
    # Of an event larger than a broker takes the data is left out (countersign-shortened): then the ledger must be asked.
    if event_type == "ApprovalResponded" and data.get("resolution", "pending") != "pending":
        return {"outcome": data["resolution"], "callId": event["callId"]}
    return {"outcome": event_type, "callId": event["callId"]} if event_type in ENDS else None


def recorded(options, position):
    """The refusal as the ledger's own log has it: a client that may write the topic can forge one.

    The token must be of the principal that signs. Where no principal was proven, the log shows it to auditors alone.
    """
    headers = {"authorization": f"Bearer {os.environ.get('COUNTERSIGN_TOKEN', '')}"}
    try:
        url = f"{options.url}/v1/events?types=RequestRefused&after={int(position) - 1}"
        with urlopen(Request(url, headers=headers), timeout=3) as stream:
            line = next(line for line in stream if line.startswith(b"data:"))
        return json.loads(line.removeprefix(b"data:"))
    except (OSError, ValueError, StopIteration) as error:
        print(f"the topic says that the request is refused; the ledger shows no refusal to this token: {error!r}", file=sys.stderr)
        return None


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
