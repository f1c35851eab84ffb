"""Checks a running registry's log, a version's record and its signature, with nothing of ours.

    python3 tests/outside/check_registry.py URL NAME VERSION

Needs `cryptography` and nothing else; written from the C2SP texts, RFC 6962, DSSE, in-toto and
`docs/wire`. Prints what it has verified, a line each; ends with 1 and the first thing that does not
hold. A mirror is checked in the same way: all its logs are.
"""

import base64
import hashlib
import json
import sys
import time
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding, PublicFormat, load_pem_public_key)


class Refused(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Refused(what)


def fetch(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {} if body is None else {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=10) as answer:
        content = answer.read(8 * 1024 * 1024 + 1)
    need(len(content) <= 8 * 1024 * 1024, f"{url} answers without end")
    return content


def unpack(text, size=32):
    data = base64.b64decode(text, validate=True)
    return [data[at:at + size] for at in range(0, len(data), size)]


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


# Trees.

def leaf_hash(entry):
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(hashes):
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    middle = 1 << (len(hashes) - 1).bit_length() - 1
    return node_hash(root_of(hashes[:middle]), root_of(hashes[middle:]))


def root_by_proof(leaf, index, size, proof):
    """The root that an inclusion proof leads to: recursively, as RFC 6962 defines the proof."""
    if size == 1:
        need(not proof, "an inclusion proof is too long")
        return leaf
    need(proof, "an inclusion proof is too short")
    middle = 1 << (size - 1).bit_length() - 1
    if index < middle:
        return node_hash(root_by_proof(leaf, index, middle, proof[:-1]), proof[-1])
    return node_hash(proof[-1], root_by_proof(leaf, index - middle, size - middle, proof[:-1]))


# Signatures.

def verifies(raw_key, signature, message):
    try:
        Ed25519PublicKey.from_public_bytes(raw_key).verify(signature, message)
        return True
    except InvalidSignature:
        return False


def spki_id(pem):
    key = load_pem_public_key(pem.encode())
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest(), key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def open_envelope(envelope, kind, pems, needed):
    """The payload of a DSSE envelope that `needed` of the keys have signed."""
    need(envelope["payloadType"] == kind, f"an envelope holds {envelope['payloadType']}")
    payload = base64.b64decode(envelope["payload"], validate=True)
    message = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    keys = dict(spki_id(pem) for pem in pems)
    signed = {
        one["keyid"] for one in envelope["signatures"]
        if one["keyid"] in keys
        and verifies(keys[one["keyid"]], base64.b64decode(one["sig"], validate=True), message)
    }
    need(len(signed) >= needed, f"{len(signed)} of {needed} keys have signed")
    return payload


def read_vkey(text):
    name, key_id, key = text.split("+", 2)
    data = base64.b64decode(key, validate=True)
    expected = hashlib.sha256(name.encode() + b"\n" + data).digest()[:4]
    need(key_id == expected.hex(), f"the id of {text} is not that of its key")
    return name, expected, data[0], data[1:]


def open_checkpoint(note, origin, vkeys):
    """Size, root and time of a checkpoint that the log has signed and timed."""
    text, signatures = note.rsplit("\n\n", 1)
    text += "\n"
    keys = [read_vkey(vkey) for vkey in vkeys]
    signed, told = False, None
    for line in signatures.strip("\n").split("\n"):
        dash, name, signature = line.split(" ")
        need(dash == "\u2014", "a signature line begins otherwise")
        data = base64.b64decode(signature, validate=True)
        for known, key_id, kind, key in keys:
            if (known, key_id) != (name, data[:4]):
                continue
            if kind == 1:
                need(verifies(key, data[4:], text.encode()), "the log's signature does not verify")
                signed = True
            else:
                told = int.from_bytes(data[4:12], "big")
                message = f"cosignature/v1\ntime {told}\n{text}".encode()
                need(verifies(key, data[12:], message), "the cosignature does not verify")
    need(signed, "no key of the log has signed the checkpoint")
    need(told is not None, "the checkpoint tells no time")
    need(abs(time.time() - told) < 24 * 3600, f"the checkpoint is of {told}")
    lines = text.split("\n")
    need(lines[0] == origin, f"the checkpoint is one of {lines[0]}")
    return int(lines[1]), base64.b64decode(lines[2], validate=True)


# The registry.

def tile_path(index, width):
    digits = f"{index:03d}"
    digits = digits.rjust(-(-len(digits) // 3) * 3, "0")
    groups = [digits[at:at + 3] for at in range(0, len(digits), 3)]
    path = "/".join(["x" + group for group in groups[:-1]] + groups[-1:])
    return path if width == 256 else f"{path}.p/{width}"


def entries_of(base, size):
    for index in range(-(-size // 256)):
        width = min(256, size - 256 * index)
        data = fetch(f"{base}/tile/entries/{tile_path(index, width)}")
        hashes = fetch(f"{base}/tile/0/{tile_path(index, width)}")
        for at in range(width):
            length = int.from_bytes(data[:2], "big")
            entry, data = data[2:2 + length], data[2 + length:]
            need(len(entry) == length, "a bundle is cut short")
            need(leaf_hash(entry) == hashes[32 * at:32 * at + 32], "a tile is not of its bundle")
            yield entry
        need(not data, "a bundle is longer than its entries")


def check_log(url, log):
    rotation, origin = None, log["origin"]
    for number, envelope in enumerate(log["identities"], 1):
        kind = "application/vnd.skillpkg.log-identity+json"
        identity = json.loads(base64.b64decode(envelope["payload"]))
        for who in filter(None, (rotation, identity["rotation"])):
            payload = open_envelope(envelope, kind, who["keys"], who["threshold"])
        need(canonical(identity) == payload, "an identity is not canonical")
        need((identity["origin"], identity["number"]) == (origin, number), "an identity is another's")
        rotation = identity["rotation"]
    print(f"identity {number} of {origin}")
    base = f"{url}/{log['prefix']}"
    note = fetch(f"{base}/checkpoint").decode()
    size, root = open_checkpoint(note, origin, identity["keys"])
    print(f"checkpoint of {size} leaves, signed and timed")
    entries = list(entries_of(base, size))
    need(root_of([leaf_hash(entry) for entry in entries]) == root, "the leaves have another root")
    records = [json.loads(entry) for entry in entries]
    need(all(canonical(record) == entry for record, entry in zip(records, entries)),
         "a record is not canonical")
    need(records[-1]["kind"] == "heads", "the last leaf is not that of the heads")
    print(f"all {size} leaves are under its root")
    return {"origin": origin, "keys": identity["keys"]}


def check_version(url, logs, name, version):
    answer = json.loads(fetch(f"{url}/v1/index", {"names": [name], "logs": []}))
    need(not answer["missing"], f"{name} is not there")
    scope, _, bare = name.rpartition("/")
    raw = fetch(f"{url}/v1/skills/{scope or '_'}/{bare}")
    document = json.loads(raw)
    key = hashlib.sha256(name.encode()).digest()
    number = int.from_bytes(key[:2], "big")
    for view in answer["views"]:
        log = next(log for log in logs if log["origin"] == view["origin"])
        size, root = open_checkpoint(view["checkpoint"], view["origin"], log["keys"])
        heads = view["heads"]
        leaf = leaf_hash(heads["sealed"]["record"].encode())
        need(heads["index"] == size - 1, "the heads are not the last leaf")
        need(root_by_proof(leaf, heads["index"], size, unpack(heads["proof"])) == root,
             "the heads are not in the log")
        heads_root = bytes.fromhex(json.loads(heads["sealed"]["record"])["root"])
        for bucket in view["buckets"]:
            data = base64.b64decode(bucket["heads"], validate=True)
            found = root_by_proof(leaf_hash(data), bucket["bucket"], 65_536, unpack(bucket["proof"]))
            need(found == heads_root, "a bucket is not in the heads tree")
        bucket = next((one for one in view["buckets"] if one["bucket"] == number), None)
        listed = dict(pair for pair in (
            (one[:32], one[32:]) for one in unpack(bucket["heads"], 64))) if bucket else {}
        if key in listed:
            break
    else:
        raise Refused(f"no log lists {name}")
    need(listed[key] == hashlib.sha256(raw).digest(), "the document is not the one that is listed")
    print(f"the document of {name} is the one that the log lists")

    entry = next(one for one in document["versions"] if one["version"] == version)
    body = {"origin": view["origin"], "size": size, "indices": [entry["log_index"]]}
    proven = json.loads(fetch(f"{url}/v1/log/proofs", body))["records"][0]
    need(proven["index"] == entry["log_index"], "another leaf is proven")
    record = json.loads(proven["sealed"]["record"])
    found = root_by_proof(leaf_hash(proven["sealed"]["record"].encode()), proven["index"], size,
                          unpack(proven["proof"]))
    need(found == root, "the record is not in the log")
    for field in ("address", "archive", "version"):
        need(record[field] == entry[field], f"the record has another {field}")
    need(record["kind"] == "publish" and record["name"] == name, "the record is of something else")
    print(f"the record of {name}@{version} is leaf {proven['index']}")

    manifest = fetch(f"{url}/v1/manifests/{entry['address']}")
    need("sha256:" + hashlib.sha256(manifest).hexdigest() == entry["address"], "another manifest")
    envelope = json.loads(fetch(f"{url}/v1/manifests/{entry['address']}/signatures"))
    pems = [key["pem"] for key in document["keys"] if key["id"] in record["keys"]]
    payload = open_envelope(envelope, "application/vnd.in-toto+json", pems, 1)
    subject = json.loads(payload)["subject"][0]
    need(subject["name"] == f"{name}@{version}", "the signature is over another version")
    need("sha256:" + subject["digest"]["sha256"] == entry["address"], "and over another snapshot")
    print(f"{name}@{version} is signed by {len(pems)} key of {document['keys'][0]['account']}")


def main():
    url, name, version = sys.argv[1].rstrip("/"), sys.argv[2], sys.argv[3]
    try:
        logs = [check_log(url, log) for log in json.loads(fetch(f"{url}/v1/log"))["logs"]]
        check_version(url, logs, name, version)
    except (Refused, KeyError, ValueError, StopIteration, OSError) as error:
        sys.exit(f"refused: {type(error).__name__}: {error}")


main()
