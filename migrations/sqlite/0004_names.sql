-- What is decided about names: which were deleted, which read like others, how often they are had.

-- A version that was deleted: its number stays taken, and its readers are told why.
CREATE TABLE deleted_versions (
    id          INTEGER PRIMARY KEY,
    skill_id    INTEGER NOT NULL REFERENCES skills (id),
    version     TEXT NOT NULL,
    -- As in `versions`: build metadata makes no other version.
    version_key TEXT NOT NULL,
    address     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    deleted     TEXT NOT NULL,
    UNIQUE (skill_id, version_key)
);

-- A name that was deleted as a whole, until somebody publishes under it again.
CREATE TABLE deleted_names (
    skill_id INTEGER PRIMARY KEY REFERENCES skills (id),
    reason   TEXT NOT NULL,
    deleted  TEXT NOT NULL
);

-- Archives handed out, of each skill; added to now and then, so that a crash may lose some.
CREATE TABLE downloads (
    skill_id INTEGER PRIMARY KEY REFERENCES skills (id),
    count    BIGINT NOT NULL
);

-- A bare name that reads like another, and who asked for it.
CREATE TABLE confusable_names (
    name       TEXT NOT NULL,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    -- The name that it reads like, and how.
    resembles  TEXT NOT NULL,
    likeness   TEXT NOT NULL,
    -- `flagged`, `held`, `released` or `refused`.
    state      TEXT NOT NULL,
    asked      TEXT NOT NULL,
    -- When an operator released or refused it.
    decided    TEXT,
    PRIMARY KEY (name, account_id)
);

-- A name that an operator gives to nobody.
CREATE TABLE refused_names (
    name    TEXT PRIMARY KEY,
    refused TEXT NOT NULL
);
