-- The transparency log: what is in no tile yet, what hides private leaves, and the heads tree.
--
-- A change takes the next index in its own transaction. The sequencer then seals all that are pending
-- in one transaction of its own, which adds the leaf of the heads tree; from then on the bytes of
-- every leaf up to `sealed` are fixed, whatever is cut short. `covered` follows once the checkpoint is
-- signed.

CREATE TABLE log_state (
    id         BIGINT PRIMARY KEY CHECK (id = 1),
    -- The index that the next leaf takes.
    next_index BIGINT NOT NULL,
    -- Leaves up to a heads leaf that are to be signed next, or are.
    sealed     BIGINT NOT NULL,
    -- Leaves of the newest signed checkpoint whose effects are in the tables below.
    covered    BIGINT NOT NULL,
    -- Number of the newest identity that has a leaf.
    identity   BIGINT NOT NULL,
    -- What tells the form in which documents are written: where the program writes another, all are
    -- other bytes.
    form       TEXT COLLATE "C" NOT NULL,
    -- Whether what was there before there was a log has its leaves.
    complete   BOOLEAN NOT NULL
);
INSERT INTO log_state (id, next_index, sealed, covered, identity, form, complete)
VALUES (1, 0, 0, 0, 0, '', FALSE);

-- Leaves that the newest checkpoint does not cover.
CREATE TABLE log_pending (
    log_index BIGINT PRIMARY KEY,
    entry     BYTEA NOT NULL
);

-- What blinded leaves stand for: record and salt, as JSON.
CREATE TABLE log_records (
    log_index BIGINT PRIMARY KEY,
    -- Whose members may read it.
    scope     TEXT COLLATE "C" NOT NULL,
    sealed    TEXT COLLATE "C" NOT NULL
);

-- A leaf and its version are found by one another.
CREATE INDEX versions_by_leaf ON versions (log_index);

-- Skills whose documents a leaf changes that the newest checkpoint does not cover.
CREATE TABLE log_touched (
    skill_id  BIGINT NOT NULL REFERENCES skills (id),
    log_index BIGINT NOT NULL,
    PRIMARY KEY (skill_id, log_index)
);

-- Which leaf says that a key was revoked where this account had registered it.
CREATE TABLE log_revocations (
    key_id     TEXT COLLATE "C" NOT NULL,
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    log_index  BIGINT NOT NULL,
    PRIMARY KEY (key_id, account_id)
);

-- The heads tree of the newest checkpoint: SHA-256 of a public name, SHA-256 of its document.
CREATE TABLE log_heads (
    bucket BIGINT NOT NULL,
    key    BYTEA NOT NULL,
    digest BYTEA NOT NULL,
    PRIMARY KEY (bucket, key)
);

-- The hashes of its buckets, 256 in a row, each 32 bytes; a row that is not there is of empty ones.
CREATE TABLE log_buckets (
    block  BIGINT PRIMARY KEY,
    hashes BYTEA NOT NULL
);

-- What the sealed leaves change in it once they are covered; a null digest takes the name away.
CREATE TABLE log_sealed_heads (
    bucket BIGINT NOT NULL,
    key    BYTEA NOT NULL,
    digest BYTEA,
    PRIMARY KEY (bucket, key)
);

-- What is known to be wrong with versions.
CREATE TABLE advisories (
    -- `SKA-YEAR-NUMBER`.
    id        TEXT COLLATE "C" PRIMARY KEY,
    skill_id  BIGINT NOT NULL REFERENCES skills (id),
    -- A semver requirement.
    versions  TEXT COLLATE "C" NOT NULL,
    -- `warn` or `forbid`.
    effect    TEXT COLLATE "C" NOT NULL,
    summary   TEXT COLLATE "C" NOT NULL,
    published TEXT COLLATE "C" NOT NULL,
    withdrawn TEXT COLLATE "C",
    log_index BIGINT
);
CREATE INDEX advisories_of_skill ON advisories (skill_id);
