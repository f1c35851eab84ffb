"""Verifies an envelope with securesystemslib, and signs one for the other side to verify.

Reads {"envelope", "public_key", "key_id", "private_key"} on standard input. Writes a canonical
envelope, signed with the private key, on standard output. Exit code 3: the library is not there.
"""

import base64
import copy
import json
import sys

try:
    from cryptography.hazmat.primitives.serialization import (
        load_pem_private_key,
        load_pem_public_key,
    )
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import CryptoSigner, SSlibKey
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)


def changed(text):
    """Base64 of the same bytes with the last bit turned."""
    value = bytearray(base64.b64decode(text))
    value[-1] ^= 1
    return base64.b64encode(bytes(value)).decode()


def refused(envelope, key):
    try:
        Envelope.from_dict(envelope).verify([key], 1)
    except VerificationError:
        return True
    return False


given = json.load(sys.stdin)
envelope = json.loads(given["envelope"])
public = load_pem_public_key(given["public_key"].encode())
key = SSlibKey.from_crypto(public, keyid=given["key_id"])

verified = Envelope.from_dict(copy.deepcopy(envelope)).verify([key], 1)
assert list(verified) == [given["key_id"]], verified

other_payload = copy.deepcopy(envelope)
other_payload["payload"] = changed(other_payload["payload"])
assert refused(other_payload, key), "a changed payload was verified"

other_type = copy.deepcopy(envelope)
other_type["payloadType"] += "x"
assert refused(other_type, key), "a changed payload type was verified"

other_signature = copy.deepcopy(envelope)
other_signature["signatures"][0]["sig"] = changed(other_signature["signatures"][0]["sig"])
assert refused(other_signature, key), "a changed signature was verified"

private = load_pem_private_key(given["private_key"].encode(), None)
theirs = Envelope(b'{"theirs":true}', "application/json", {})
theirs.sign(CryptoSigner(private, key))
json.dump(theirs.to_dict(), sys.stdout, sort_keys=True, separators=(",", ":"))
