-- Jobs of build services that publish.

CREATE TABLE trusted_publishers (
    id         TEXT COLLATE "C" PRIMARY KEY,
    scope_id   BIGINT NOT NULL REFERENCES scopes (id),
    -- Of a skill of that scope, which may not be there yet.
    name       TEXT COLLATE "C" NOT NULL,
    -- Who recorded it, and as whom it publishes.
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    issuer     TEXT COLLATE "C" NOT NULL,
    -- JSON object of texts: what an identity must say.
    claims     TEXT COLLATE "C" NOT NULL,
    added      TEXT COLLATE "C" NOT NULL
);
CREATE INDEX trusted_publishers_of_name ON trusted_publishers (scope_id, name);
CREATE INDEX trusted_publishers_of_account ON trusted_publishers (account_id);

-- Identities that were exchanged for a token, as long as they would be valid.
CREATE TABLE used_identities (
    -- SHA-256 of what makes it one of its kind.
    digest  TEXT COLLATE "C" PRIMARY KEY,
    expires TEXT COLLATE "C" NOT NULL
);
CREATE INDEX used_identities_by_end ON used_identities (expires);

-- The trusted publisher that a token was given to; null where a person or an operator made it.
ALTER TABLE tokens ADD COLUMN publisher_id TEXT COLLATE "C";
CREATE INDEX tokens_of_publisher ON tokens (publisher_id) WHERE publisher_id IS NOT NULL;
