-- What a mirror holds of another registry.
--
-- Nothing here is an account's, and nothing of it stands in the tables of what was published here:
-- what is a registry's own is never taken for what it relays, nor the other way. A document is kept
-- as the bytes that came, since its digest is what the log of the other registry speaks of.

-- One row: what this registry is known by to the mirrors in a row.
CREATE TABLE mirror (
    id TEXT PRIMARY KEY
);

-- One row: the log that is relayed, as far as it was verified. Whatever it says later continues it.
CREATE TABLE relayed_log (
    origin     TEXT PRIMARY KEY,
    -- Where upstream has it, beneath its URL.
    prefix     TEXT NOT NULL,
    -- Whether upstream itself only relays it: then it has names that the log does not speak of.
    relayed    BOOLEAN NOT NULL,
    -- JSON list of the envelopes of all its identities.
    identities TEXT NOT NULL,
    -- Leaves of the tree that `relayed_tiles` hold, and its root.
    size       BIGINT NOT NULL,
    root       TEXT NOT NULL,
    -- The newest checkpoint, a signed note; its moment is the one with `heads` as root.
    checkpoint TEXT NOT NULL,
    heads      TEXT NOT NULL,
    -- When upstream last said so.
    refreshed  TEXT NOT NULL
);

-- Hashes of the tree: full tiles, and the partial ones at its right edge.
CREATE TABLE relayed_tiles (
    level  BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (level, number)
);

-- Records that clients ask proofs of.
CREATE TABLE relayed_records (
    leaf   BIGINT PRIMARY KEY,
    -- `{"record":…}`, with its salt where it is blinded.
    sealed TEXT NOT NULL
);

-- The moments that documents are of: all documents of a moment are proven by its checkpoint.
CREATE TABLE relayed_moments (
    -- Root of the heads tree.
    heads      TEXT PRIMARY KEY,
    checkpoint TEXT NOT NULL,
    size       BIGINT NOT NULL,
    -- The record of the last leaf.
    sealed     TEXT NOT NULL,
    at         TEXT NOT NULL
);

CREATE TABLE relayed_buckets (
    heads  TEXT NOT NULL REFERENCES relayed_moments (heads),
    number BIGINT NOT NULL,
    bytes  BLOB NOT NULL,
    proof  BLOB NOT NULL,
    PRIMARY KEY (heads, number)
);

CREATE TABLE mirrored_skills (
    id          INTEGER PRIMARY KEY,
    -- The origin of the log that speaks for it.
    origin      TEXT NOT NULL,
    scope       TEXT NOT NULL,
    name        TEXT NOT NULL,
    document    BLOB NOT NULL,
    -- SHA-256 of the document.
    digest      TEXT NOT NULL,
    -- The moment and the bucket that it is proven by.
    heads       TEXT NOT NULL REFERENCES relayed_moments (heads),
    bucket      BIGINT NOT NULL,
    description TEXT NOT NULL,
    -- The newest version that is not yanked; null where all are.
    current_version TEXT,
    -- When somebody last asked for it, to the hour.
    used        TEXT NOT NULL,
    UNIQUE (scope, name)
);
CREATE INDEX mirrored_skills_of_moment ON mirrored_skills (heads);

-- Every version that a document has ever named; what a row says of its content never changes.
CREATE TABLE mirrored_versions (
    id            INTEGER PRIMARY KEY,
    skill_id      INTEGER NOT NULL REFERENCES mirrored_skills (id),
    version       TEXT NOT NULL,
    address       TEXT NOT NULL,
    blake3        TEXT NOT NULL,
    archive       TEXT NOT NULL,
    size          BIGINT NOT NULL,
    -- Whether the document names it still: one that was deleted upstream is handed out no more.
    listed        BOOLEAN NOT NULL,
    -- The rest is null unless its archive, its manifest and its files are held.
    manifest_size BIGINT,
    envelope      TEXT,
    capabilities  TEXT,
    search_text   TEXT,
    -- Bytes that it takes: those of its archive, its manifest and its files.
    takes         BIGINT,
    used          TEXT,
    UNIQUE (skill_id, version)
);
CREATE INDEX mirrored_versions_of_address ON mirrored_versions (address);
CREATE INDEX mirrored_versions_of_blake3 ON mirrored_versions (blake3);
CREATE INDEX mirrored_versions_of_archive ON mirrored_versions (archive);
CREATE INDEX mirrored_versions_of_use ON mirrored_versions (used);

CREATE TABLE mirrored_blobs (
    sha256 TEXT PRIMARY KEY,
    blake3 TEXT NOT NULL UNIQUE,
    size   BIGINT NOT NULL,
    -- Set where it was asked for by itself, and is held without a version.
    used   TEXT
);

CREATE TABLE mirrored_version_blobs (
    version_id INTEGER NOT NULL REFERENCES mirrored_versions (id),
    sha256     TEXT NOT NULL REFERENCES mirrored_blobs (sha256),
    PRIMARY KEY (version_id, sha256)
);
CREATE INDEX mirrored_versions_of_blob ON mirrored_version_blobs (sha256);

-- What upstream said that cannot be: until it says otherwise.
CREATE TABLE mirror_alarms (
    subject TEXT PRIMARY KEY,
    at      TEXT NOT NULL,
    detail  TEXT NOT NULL
);

CREATE VIRTUAL TABLE mirrored_text USING fts5 (name, description, capabilities, tokenize = 'unicode61');
