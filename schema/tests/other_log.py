"""Another implementation of the log's formats: makes `vectors/log.json`.

    python3 schema/tests/other_log.py > schema/tests/vectors/log.json

Needs `cryptography` and nothing else. Written from the C2SP and RFC 6962 texts and from
`docs/wire/log.md`, not from the Rust code. Its keys are made from fixed seeds, so that the output is
the same each time.
"""

import base64
import hashlib
import json
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ORIGIN = "log.example/skills"
TIME = 1_790_000_000


def key(seed):
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed.encode()).digest())


def raw(private):
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def pem(private):
    form = PublicFormat.SubjectPublicKeyInfo
    return private.public_key().public_bytes(Encoding.PEM, form).decode()


def spki(private):
    return private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def b64(data):
    return base64.b64encode(data).decode()


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


# Signed notes, checkpoints, cosignatures.

def note_id(name, kind, private):
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + raw(private)).digest()[:4]


def vkey(name, kind, private):
    return f"{name}+{note_id(name, kind, private).hex()}+{b64(bytes([kind]) + raw(private))}"


def line(name, kind, private, text, time=TIME):
    if kind == 1:
        signature = private.sign(text.encode())
    else:
        signature = private.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
        signature = struct.pack(">Q", time) + signature
    return f"\u2014 {name} {b64(note_id(name, kind, private) + signature)}\n"


LOG, COSIGNER, WITNESS, STRANGER = (key(seed) for seed in ("log", "cosigner", "witness", "stranger"))
LOG_KEY, TIME_KEY = vkey(ORIGIN, 1, LOG), vkey(ORIGIN, 4, COSIGNER)
WITNESS_KEY = vkey("witness.example", 4, WITNESS)


def checkpoint(size, root, *lines):
    text = f"{ORIGIN}\n{size}\n{b64(root)}\n"
    made = lines or ((ORIGIN, 1, LOG), (ORIGIN, 4, COSIGNER))
    return text + "\n" + "".join(line(*one, text) for one in made)


# The tree of RFC 6962.

def leaf_hash(entry):
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def split(count):
    return 1 << (count - 1).bit_length() - 1


def root(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    middle = split(len(leaves))
    return node_hash(root(leaves[:middle]), root(leaves[middle:]))


def inclusion(index, leaves):
    if len(leaves) == 1:
        return []
    middle = split(len(leaves))
    if index < middle:
        return inclusion(index, leaves[:middle]) + [root(leaves[middle:])]
    return inclusion(index - middle, leaves[middle:]) + [root(leaves[:middle])]


def consistency(size, leaves, whole=True):
    if size == len(leaves):
        return [] if whole else [root(leaves)]
    middle = split(len(leaves))
    if size <= middle:
        return consistency(size, leaves[:middle], whole) + [root(leaves[middle:])]
    return consistency(size - middle, leaves[middle:], False) + [root(leaves[:middle])]


def trees():
    leaves = [leaf_hash(str(at).encode()) for at in range(600)]
    made = []
    for size in (1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 300, 512, 600):
        tree = leaves[:size]
        made.append({
            "size": size,
            "root": root(tree).hex(),
            "inclusion": [
                {"index": index, "proof": [one.hex() for one in inclusion(index, tree)]}
                for index in sorted({0, size // 3, size // 2, size - 1})
            ],
            "consistency": [
                {"from": size_before, "proof": [one.hex() for one in consistency(size_before, tree)]}
                for size_before in sorted({1, size // 2 or 1, max(size - 1, 1), size})
            ],
        })
    return made


# Records, blinded leaves, bundles.

NAME, VERSION = "acme/waitlist", "1.2.0"
ADDRESS = "sha256:" + hashlib.sha256(b"manifest").hexdigest()
ARCHIVE = "sha256:" + hashlib.sha256(b"archive").hexdigest()
KEY_ID = hashlib.sha256(spki(key("publisher"))).hexdigest()
ZERO = hashlib.sha256(b"").hexdigest()


def record(kind, **fields):
    return {"at": "2026-11-30T12:00:00Z", "kind": kind, "schema": "skillpkg.log/1", **fields}


RECORDS = [
    record("publish", name=NAME, version=VERSION, address=ADDRESS, archive=ARCHIVE, account="ada",
           keys=[KEY_ID]),
    record("yank", name=NAME, version=VERSION, reason="br\u00f6ken\nbadly", by="ada"),
    record("yank", name="waitlist", version="0.1.0-rc.1+b", reason="x"),
    record("unyank", name=NAME, version=VERSION, by="ada"),
    record("version_deleted", name=NAME, version=VERSION, reason="a key was in it"),
    record("name_deleted", name=NAME, reason="asked for"),
    record("owner_added", name=NAME, account="bob", by="ada"),
    record("owner_removed", name=NAME, account="bob"),
    record("scope_added", scope="acme"),
    record("member_added", scope="acme", account="bob", role="publisher"),
    record("member_removed", scope="acme", account="bob", by="ada"),
    record("key_added", account="ada", key=KEY_ID),
    record("key_revoked", account="ada", key=KEY_ID, reason="lost"),
    record("key_revoked", account="ada", key=KEY_ID),
    record("advisory", id="SKA-2026-0001", name=NAME, versions="<1.2.1", effect="forbid",
           summary="sends mail to strangers"),
    record("advisory_withdrawn", id="SKA-2026-0001", name=NAME),
    record("log_identity", number=2, identity=ZERO),
    record("heads", root=ZERO),
    record("blinded", commitment=ZERO),
    record("trusted_publisher_added", id="6d3f0a9be8c1d274", name=NAME, issuer="https://issuer.example",
           claims={"repository": "acme/waitlist", "repository_owner_id": "4077"}, by="ada"),
    record("trusted_publisher_removed", id="6d3f0a9be8c1d274", name=NAME, by="ada"),
    record("trusted_publisher_removed", id="6d3f0a9be8c1d274", name=NAME),
]


def records():
    made = []
    for number, one in enumerate(RECORDS):
        entry = canonical(one)
        salt = hashlib.sha256(b"salt%d" % number).digest()
        commitment = hashlib.sha256(salt + entry).hexdigest()
        blinded = canonical({**record("blinded", commitment=commitment), "at": one["at"]})
        made.append({
            "record": entry.decode(),
            "leaf": leaf_hash(entry).hex(),
            "salt": salt.hex(),
            "blinded_leaf": leaf_hash(blinded).hex(),
        })
    return made


def refused_records():
    good = RECORDS[0]
    without = lambda name: {field: value for field, value in good.items() if field != name}
    return [
        "", "null", "[]", "{}", "\ufeff" + canonical(good).decode(),
        json.dumps(good), canonical(good).decode() + "\n",
        *(canonical(without(name)).decode() for name in good),
        canonical({**good, "extra": "field"}).decode(),
        canonical({**good, "schema": "skillpkg.log/2"}).decode(),
        canonical({**good, "kind": "republish"}).decode(),
        canonical({**good, "name": "Acme/waitlist"}).decode(),
        canonical({**good, "version": "1.2"}).decode(),
        canonical({**good, "address": "sha1:00"}).decode(),
        canonical({**good, "keys": [None]}).decode(),
        canonical(good).decode().replace('"account":"ada"', '"account":"ada","account":"ada"'),
        canonical({**RECORDS[14], "effect": "explode"}).decode(),
        canonical({**RECORDS[1], "by": None}).decode(),
        "[" * 10_000,
    ]


# Notes.

def notes():
    text = f"{ORIGIN}\n7\n{b64(root([leaf_hash(b'x')]))}\n"
    own, times, other = (line(ORIGIN, 1, LOG, text), line(ORIGIN, 4, COSIGNER, text),
                         line("witness.example", 4, WITNESS, text))
    stranger = line("stranger.example", 1, STRANGER, text)
    forged = line(ORIGIN, 1, STRANGER, text)
    broken = own[:-6] + ("AAAA=" if not own.endswith("AAAA=\n") else "BBBB=") + "\n"
    all_keys = [LOG_KEY, TIME_KEY, WITNESS_KEY]
    case = lambda name, note, keys, verified: {
        "name": name, "note": note, "keys": keys, "verified": verified}
    base = text + "\n"
    return [
        case("signed by the log", base + own, all_keys, [[ORIGIN, None]]),
        case("signed by all", base + own + times + other, all_keys,
             [[ORIGIN, None], [ORIGIN, TIME], ["witness.example", TIME]]),
        case("a stranger beside it counts for nothing", base + stranger + own, all_keys,
             [[ORIGIN, None]]),
        case("a stranger alone", base + stranger, all_keys, []),
        case("another key under the same name has another id", base + forged, all_keys, []),
        case("the newest of two times of one key", base + other + line(
            "witness.example", 4, WITNESS, text, TIME + 9), all_keys, [["witness.example", TIME + 9]]),
        case("a signature that does not verify refuses the note", base + broken, all_keys, None),
        case("two of one key, one of them bad", base + own + broken, all_keys, None),
        case("a changed text", base.replace("\n7\n", "\n8\n", 1) + own, all_keys, None),
        case("a cosignature whose time was changed", base + other.replace(
            b64(note_id("witness.example", 4, WITNESS) + struct.pack(">Q", TIME)),
            b64(note_id("witness.example", 4, WITNESS) + struct.pack(">Q", TIME + 1))),
            all_keys, None),
        case("a signature of the text in the place of a cosignature", base
             + f"\u2014 {ORIGIN} {b64(note_id(ORIGIN, 4, COSIGNER) + struct.pack('>Q', TIME) + COSIGNER.sign(text.encode()))}\n",
             all_keys, None),
        case("carriage returns", (base + own).replace("\n", "\r\n"), all_keys, None),
        case("no signatures", text + "\n", all_keys, None),
        case("no empty line", text + own, all_keys, None),
        case("no text", "\n\n" + own, all_keys, None),
        case("text after the signatures", base + own + "more\n", all_keys, None),
        case("no line feed at the end", (base + own)[:-1], all_keys, None),
        case("a hyphen in the place of the dash", base + own.replace("\u2014", "-"), all_keys, None),
        case("base64 without its padding", base + own.replace("=", ""), all_keys, None),
        case("a control character", base.replace("log.example", "log\u0007example") + own, all_keys,
             None),
        case("an empty line in the text", text + "\nmore\n\n" + line(
            ORIGIN, 1, LOG, text + "\nmore\n"), all_keys, [[ORIGIN, None]]),
        case("sixteen strangers", base + "".join(
            line(f"w{at}.example", 4, WITNESS, text) for at in range(16)) + own, all_keys,
            [[ORIGIN, None]]),
        case("more lines than anybody needs", base + stranger * 65 + own, all_keys, None),
    ]


def texts():
    good = f"{ORIGIN}\n7\n{b64(bytes(32))}\n"
    return {
        "taken": [good, good + "an extension\n", good.replace("\n7\n", "\n0\n"),
                  good.replace("\n7\n", f"\n{2**63 - 1}\n"), "spaces are fine here\n" + good.split("\n", 1)[1]],
        "refused": ["", "\n", f"{ORIGIN}\n", f"{ORIGIN}\n7\n", f"\n7\n{b64(bytes(32))}\n",
                    *(good.replace("\n7\n", f"\n{size}\n")
                      for size in ("07", "-7", "+7", "7 ", "", "seven", str(2**63), "1e3")),
                    good.replace(b64(bytes(32)), b64(bytes(31))), good.replace("=", ""),
                    good + "\n", good + "x\n\ny\n"],
    }


# The heads tree.

def heads():
    documents = {name: f"document of {name}".encode() for name in
                 ["waitlist", "acme/waitlist", "acme/reports", "zebra", "a", "b", "c"]}
    # Two names of one bucket, found by trying.
    seen = {}
    for at in range(100_000):
        name = f"skill-{at}"
        bucket = hashlib.sha256(name.encode()).digest()[:2]
        if bucket in seen:
            documents |= {seen[bucket]: b"one", name: b"another"}
            break
        seen[bucket] = name
    buckets = {}
    for name, document in documents.items():
        digest = hashlib.sha256(name.encode()).digest()
        buckets.setdefault(int.from_bytes(digest[:2], "big"), []).append(
            digest + hashlib.sha256(document).digest())
    level = [leaf_hash(b"".join(sorted(buckets.get(at, [])))) for at in range(65_536)]
    levels = [level]
    while len(level) > 1:
        level = [node_hash(*level[at:at + 2]) for at in range(0, len(level), 2)]
        levels.append(level)

    def proof(bucket):
        return b"".join(one[bucket >> height ^ 1] for height, one in enumerate(levels[:-1]))

    return {
        "documents": {name: document.decode() for name, document in documents.items()},
        "root": level[0].hex(),
        "buckets": [
            {"bucket": bucket, "heads": b64(b"".join(sorted(buckets.get(bucket, [])))),
             "proof": b64(proof(bucket))}
            for bucket in sorted({*buckets, 0, 65_535})
        ],
    }


# Identities, proofs in files, statements.

def envelope(kind, payload, *keys):
    message = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    signatures = [{"keyid": hashlib.sha256(spki(one)).hexdigest(), "sig": b64(one.sign(message))}
                  for one in keys]
    return {"payload": b64(payload), "payloadType": kind, "signatures": signatures}


IDENTITY = "application/vnd.skillpkg.log-identity+json"


def identity(number, rotation, threshold, signers, origin=ORIGIN, log=LOG, kind=IDENTITY):
    payload = canonical({
        "schema": "skillpkg.log-identity/1", "origin": origin, "number": number,
        "keys": [vkey(origin, 1, log), vkey(origin, 4, COSIGNER)],
        "rotation": {"keys": [pem(one) for one in rotation], "threshold": threshold},
    })
    return envelope(kind, payload, *signers)


def identities():
    a, b, c, d, e = (key(f"rotation {name}") for name in "abcde")
    first = identity(1, [a, b, c], 2, [a, b])
    second = identity(2, [d, e], 2, [b, c, d, e], log=STRANGER)
    third = identity(3, [d], 1, [d, e])
    fingerprint = lambda one: hashlib.sha256(base64.b64decode(one["payload"])).hexdigest()
    case = lambda name, chain, taken: {"name": name, "chain": chain, "taken": taken}
    return {
        "fingerprint": fingerprint(first),
        "cases": [
            case("the first", [first], True),
            case("signed by the threshold of the one before and its own", [first, second], True),
            case("three", [first, second, third], True),
            case("signed by too few of the one before", [first, identity(2, [d, e], 2, [a, d, e])], False),
            case("signed by its own keys alone", [first, identity(2, [d, e], 2, [d, e])], False),
            case("signed by too few of its own", [first, identity(2, [d, e], 2, [a, b, d])], False),
            case("one is left out", [first, third], False),
            case("it does not begin at the first", [second], False),
            case("twice the same", [first, first], False),
            case("of another log", [first, identity(2, [d], 1, [a, b, d], origin="other.example")], False),
            case("a first that nobody signed enough", [identity(1, [a, b], 2, [a])], False),
            case("a threshold of none", [identity(1, [a], 0, [a])], False),
            case("a threshold above its keys", [identity(1, [a], 2, [a])], False),
            case("a rotation key twice", [identity(1, [a, a], 2, [a])], False),
            case("another payload type", [identity(1, [a], 1, [a], kind="application/json")], False),
            case("none", [], False),
        ],
    }


def proofs():
    entries = [canonical(one) for one in RECORDS]
    leaves = [leaf_hash(entry) for entry in entries]
    size, tree_root = len(leaves), root(leaves)
    signed = checkpoint(size, tree_root)
    made = []
    for index in (0, 7, size - 1):
        hashes = "".join(b64(one) + "\n" for one in inclusion(index, leaves))
        extra = b64(canonical({"record": entries[index].decode()}))
        made.append({
            "index": index, "leaf": leaves[index].hex(), "record": entries[index].decode(),
            "proof": f"c2sp.org/tlog-proof@v1\nextra {extra}\nindex {index}\n{hashes}\n{signed}",
        })
    good = made[1]["proof"]
    plain = "\n".join(one for one in good.split("\n") if not one.startswith("extra "))
    return {
        "taken": made,
        "without_extra": plain,
        "refused": [
            "", "c2sp.org/tlog-proof@v1\n", good.replace("proof@v1", "proof@v2"),
            good.replace("index 7", "index 07"), good.replace("index 7", "index -7"),
            good.replace("index 7\n", ""), good.replace("extra ", "extra  "),
            good.split("\n\n")[0], good.replace("\n", "\r\n"),
            good.replace("index 7\n", "index 7\n" + (b64(bytes(32)) + "\n") * 64),
            good.replace("index 7\n", "index 7\n" + b64(bytes(31)) + "\n"),
        ],
    }


def statements():
    kind = "application/vnd.skillpkg.document-statement+json"
    say = lambda document, signer=LOG, kind=kind, **other: envelope(kind, canonical({
        "schema": "skillpkg.document-statement/1", "origin": ORIGIN, "size": 9,
        "name": "acme/secret", "document": document, **other}), signer)
    digest = hashlib.sha256(b"private").hexdigest()
    return {
        "taken": [{"envelope": say(digest), "document": digest}, {"envelope": say(None), "document": None}],
        "refused": [say(digest, STRANGER), say(digest, kind=IDENTITY), say(digest, size=8),
                    say(digest, name="acme/other"), say(digest, origin="other.example"),
                    say(digest, extra=1), say("00")],
    }


print(json.dumps({
    "origin": ORIGIN,
    "time": TIME,
    "keys": [LOG_KEY, TIME_KEY],
    "witness": WITNESS_KEY,
    "notes": notes(),
    "texts": texts(),
    "trees": trees(),
    "records": records(),
    "refused_records": refused_records(),
    "heads": heads(),
    "identities": identities(),
    "proofs": proofs(),
    "statements": statements(),
}, indent=1, ensure_ascii=True))
