-- What faces serve: containers that are made of snapshots, and keys that are held for accounts.

-- Of each snapshot and face one row at most: once its container was handed out it stays, so that a
-- digest that somebody has locked goes on being served. The snapshot is one of `versions` or of `mirrored_versions`.
CREATE TABLE renderings (
    address     TEXT COLLATE "C" NOT NULL,
    -- `agent-skills`, `apm` or `clawhub`.
    face        TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of the container, and its length; null where the face leaves the snapshot out.
    digest      TEXT COLLATE "C",
    size        BIGINT,
    -- Whether the container is put: one that nobody has asked for is known by its digest alone.
    held        BOOLEAN NOT NULL,
    -- Why it is left out.
    left_out    TEXT COLLATE "C",
    -- What the face's client knows the files by, where it has such.
    fingerprint TEXT COLLATE "C",
    PRIMARY KEY (address, face)
);
CREATE INDEX renderings_of_digest ON renderings (digest);
CREATE INDEX renderings_of_fingerprint ON renderings (fingerprint);

-- Whether the registry holds the private key, and signs with it what its account publishes through a
-- face.
ALTER TABLE keys ADD COLUMN held BOOLEAN NOT NULL DEFAULT FALSE;
