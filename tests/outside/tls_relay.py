"""Speaks TLS before a registry that speaks none, under a certificate for `localhost` of a CA made now.

usage: tls_relay.py PORT_OF_REGISTRY FILE_FOR_CA
The one line on stdout is the port that it listens on. It ends with its stdin.
"""

import datetime
import os
import socket
import ssl
import sys
import tempfile
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, key, issuer, signer, extensions):
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA256())


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def make(ca_file):
    ca_key = ec.generate_private_key(ec.SECP256R1())
    usage = dict.fromkeys(
        [
            "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
            "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
        ],
        False,
    )
    usage.update(key_cert_sign=True, crl_sign=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    ca = certificate("test ca", ca_key, "test ca", ca_key, [
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (x509.KeyUsage(**usage), True),
        (identifier, False),
    ])
    key = ec.generate_private_key(ec.SECP256R1())
    own = certificate("localhost", key, "test ca", ca_key, [
        (x509.SubjectAlternativeName([x509.DNSName("localhost")]), False),
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False),
    ])
    with open(ca_file, "wb") as file:
        file.write(pem(ca))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(private + pem(own))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file.name)
    os.unlink(file.name)
    return context


def copy(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(peer, context, port):
    try:
        peer = context.wrap_socket(peer, server_side=True)
        there = socket.create_connection(("127.0.0.1", port))
    except OSError:
        return
    threading.Thread(target=copy, args=(peer, there), daemon=True).start()
    copy(there, peer)


def main():
    port, context = int(sys.argv[1]), make(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=serve, args=(peer, context, port), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


main()
