"""Checks receipts of Countersign. Reads one JSON object a line from stdin, prints `valid` or why it is refused.

    pip install -r requirements.txt
    python verify.py < calls.ndjson
"""

import base64
import hashlib
import json
import sys

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def verify_receipt(receipt, arguments, *, tool_name, issuer, tenant, keys, used, now):
    """Returns `valid` once for each claim, or a code. `keys`: the members `keys` of the key set. `used`: the jtis so far."""
    parts = receipt.split(".")
    if len(parts) != 3:
        return "malformed-receipt"
    try:
        header, claims = read(parts[0]), read(parts[1])
        signature = decode(parts[2])
    except ValueError:
        return "malformed-receipt"
    if sorted(header) != ["alg", "kid", "typ"] or header["alg"] != "EdDSA":
        return "malformed-receipt"
    if header["typ"] != "countersign-receipt+jwt":
        return "malformed-receipt"
    key = next((one for one in keys if one["kid"] == header["kid"] and one.get("crv") == "Ed25519"), None)
    if key is None:
        return "unknown-key"
    try:
        public_key = Ed25519PublicKey.from_public_bytes(decode(key["x"]))
        public_key.verify(signature, f"{parts[0]}.{parts[1]}".encode())
    except InvalidSignature:
        return "bad-signature"
    if claims["iss"] != issuer:
        return "wrong-issuer"
    if claims["tenant"] != tenant:
        return "wrong-tenant"
    if claims["aud"] != tool_name:
        return "wrong-tool"
    # A claim that is older than a day does not run: until then its use must be remembered.
    if now >= claims["exp"] or now >= claims["iat"] + 86400:
        return "expired"
    try:
        form = rfc8785.dumps({"arguments": arguments, "nonce": claims["nonce"]})
    except (rfc8785.CanonicalizationError, UnicodeError):
        return "wrong-arguments"
    if "sha256:" + hashlib.sha256(form).hexdigest() != claims["argumentsHash"]:
        return "wrong-arguments"
    # Several processes need a table with a unique key in place of this set.
    if claims["jti"] in used:
        return "already-used"
    used.add(claims["jti"])
    return "valid"


def decode(text):
    """The bytes of a base64url text. Each has one text: another one would be another receipt for a list of used texts."""
    decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(decoded).decode().rstrip("=") != text:
        raise ValueError("no base64url, or another text of the same bytes")
    return decoded


def number(text):
    """A number of the arguments as Countersign reads it: one that is too large to be exact is a float."""
    return int(text) if abs(int(text)) < 2**53 else float(text)


def read(part):
    """Reads a JSON object in which no member is there twice."""

    def once(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a member is there twice")
        return dict(pairs)

    value = json.loads(decode(part), object_pairs_hook=once)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def main():
    used = set()
    for line in sys.stdin:
        call = json.loads(line)
        # The arguments as they come over the wire.
        arguments = json.loads(call["body"], parse_int=number)["arguments"]
        print(
            verify_receipt(
                call["receipt"],
                arguments,
                tool_name=call["toolName"],
                issuer=call["issuer"],
                tenant=call["tenant"],
                keys=call["keys"],
                used=used,
                now=call["now"],
            )
        )


if __name__ == "__main__":
    main()
