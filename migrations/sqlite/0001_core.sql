-- Accounts, names, versions and what they hold, for SQLite.
--
-- Times are RFC 3339 texts in UTC, digests are 64 lowercase hexadecimal digits, and lists are JSON
-- texts, so that a query reads the same on another engine. A row of `versions` is written once, in
-- the transaction that makes the version visible; yanking alone changes it.

CREATE TABLE accounts (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    collision_key TEXT NOT NULL UNIQUE,
    created       TEXT NOT NULL
);

CREATE TABLE tokens (
    id         TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    label      TEXT NOT NULL,
    -- SHA-256 of the secret; the secret itself is nowhere.
    hash       TEXT NOT NULL UNIQUE,
    -- JSON list of grants.
    grants     TEXT NOT NULL,
    created    TEXT NOT NULL,
    expires    TEXT,
    -- To the hour.
    last_used  TEXT,
    revoked    TEXT
);
CREATE INDEX tokens_of_account ON tokens (account_id);

CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    pem        TEXT NOT NULL,
    added      TEXT NOT NULL,
    revoked    TEXT,
    log_index  BIGINT
);
CREATE INDEX keys_of_account ON keys (account_id);

CREATE TABLE scopes (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    collision_key TEXT NOT NULL UNIQUE,
    private       BOOLEAN NOT NULL,
    created       TEXT NOT NULL
);
-- The scope of bare names, so that every skill has one.
INSERT INTO scopes (id, name, collision_key, private, created)
VALUES (1, '_', '_', FALSE, '1970-01-01T00:00:00Z');

CREATE TABLE scope_members (
    scope_id   INTEGER NOT NULL REFERENCES scopes (id),
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    -- `owner`, `publisher` or `reader`.
    role       TEXT NOT NULL,
    added      TEXT NOT NULL,
    PRIMARY KEY (scope_id, account_id)
);
CREATE INDEX scopes_of_account ON scope_members (account_id);

CREATE TABLE skills (
    id              INTEGER PRIMARY KEY,
    scope_id        INTEGER NOT NULL REFERENCES scopes (id),
    name            TEXT NOT NULL,
    collision_key   TEXT NOT NULL,
    creator_id      INTEGER NOT NULL REFERENCES accounts (id),
    created         TEXT NOT NULL,
    -- The registry that it is mirrored from; null where it was published here.
    origin          TEXT,
    -- The newest version that is not yanked; null where all are.
    current_version TEXT,
    UNIQUE (scope_id, collision_key)
);
CREATE INDEX skills_of_creator ON skills (creator_id, created);

CREATE TABLE owners (
    skill_id   INTEGER NOT NULL REFERENCES skills (id),
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    added      TEXT NOT NULL,
    PRIMARY KEY (skill_id, account_id)
);

CREATE TABLE versions (
    id            INTEGER PRIMARY KEY,
    skill_id      INTEGER NOT NULL REFERENCES skills (id),
    version       TEXT NOT NULL,
    -- The version without build metadata: two that differ in it alone are one.
    version_key   TEXT NOT NULL,
    publisher_id  INTEGER NOT NULL REFERENCES accounts (id),
    published     TEXT NOT NULL,
    address       TEXT NOT NULL UNIQUE,
    blake3        TEXT NOT NULL UNIQUE,
    archive       TEXT NOT NULL UNIQUE,
    size          BIGINT NOT NULL,
    unpacked_size BIGINT NOT NULL,
    manifest_size BIGINT NOT NULL,
    -- The canonical DSSE envelope of the archive that is served.
    envelope      TEXT NOT NULL,
    description   TEXT NOT NULL,
    -- JSON list of the ids of tools and the names of scripts.
    capabilities  TEXT NOT NULL,
    -- What search finds it by beside its name and description.
    search_text   TEXT NOT NULL,
    yank_reason   TEXT,
    log_index     BIGINT,
    UNIQUE (skill_id, version_key)
);

CREATE TABLE version_keys (
    version_id INTEGER NOT NULL REFERENCES versions (id),
    key_id     TEXT NOT NULL REFERENCES keys (id),
    PRIMARY KEY (version_id, key_id)
);

CREATE TABLE blobs (
    sha256 TEXT PRIMARY KEY,
    blake3 TEXT NOT NULL UNIQUE,
    size   BIGINT NOT NULL
);

CREATE TABLE version_blobs (
    version_id INTEGER NOT NULL REFERENCES versions (id),
    sha256     TEXT NOT NULL REFERENCES blobs (sha256),
    PRIMARY KEY (version_id, sha256)
);
CREATE INDEX versions_of_blob ON version_blobs (sha256);

-- What was changed, by whom: the order in which a log would hold it.
CREATE TABLE events (
    id         INTEGER PRIMARY KEY,
    at         TEXT NOT NULL,
    -- Null where an operator did it.
    account_id INTEGER REFERENCES accounts (id),
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    detail     TEXT NOT NULL,
    log_index  BIGINT
);

-- One row a skill that has a version to be found, under the skill's id.
CREATE VIRTUAL TABLE skill_text USING fts5 (name, description, capabilities, tokenize = 'unicode61');
