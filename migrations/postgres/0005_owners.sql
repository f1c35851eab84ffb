-- Who is invited, and whose a key is.

-- Invitations to own a skill; one that is accepted, declined or withdrawn is gone.
CREATE TABLE owner_invitations (
    skill_id   BIGINT NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    -- Who is invited.
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    inviter_id BIGINT NOT NULL REFERENCES accounts (id),
    -- Whether the inviter is an owner no more once it is accepted.
    transfer   BOOLEAN NOT NULL,
    created    TEXT COLLATE "C" NOT NULL,
    expires    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (skill_id, account_id)
);
CREATE INDEX owner_invitations_of_account ON owner_invitations (account_id);
CREATE INDEX owner_invitations_by_inviter ON owner_invitations (inviter_id);

-- Invitations to be a member of a scope.
CREATE TABLE member_invitations (
    scope_id   BIGINT NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES accounts (id),
    inviter_id BIGINT NOT NULL REFERENCES accounts (id),
    -- As in `scope_members`.
    role       TEXT COLLATE "C" NOT NULL,
    created    TEXT COLLATE "C" NOT NULL,
    expires    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, account_id)
);
CREATE INDEX member_invitations_of_account ON member_invitations (account_id);
CREATE INDEX member_invitations_by_inviter ON member_invitations (inviter_id);

-- The canonical envelope that shows that the account holds the key; null where the key was registered
-- before that was asked for.
ALTER TABLE keys ADD COLUMN proof TEXT COLLATE "C";
-- Why it was revoked, in the account's words.
ALTER TABLE keys ADD COLUMN revoke_reason TEXT COLLATE "C";

-- Registrations without a proof that ended since another account showed that it holds the key.
CREATE TABLE former_keys (
    key_id        TEXT COLLATE "C" NOT NULL REFERENCES keys (id),
    account_id    BIGINT NOT NULL REFERENCES accounts (id),
    added         TEXT COLLATE "C" NOT NULL,
    revoked       TEXT COLLATE "C" NOT NULL,
    revoke_reason TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (key_id, account_id)
);
CREATE INDEX former_keys_of_account ON former_keys (account_id);
