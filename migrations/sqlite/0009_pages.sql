-- What the page of a person lists is found by the account.
CREATE INDEX owners_of_account ON owners (account_id);
CREATE INDEX versions_of_publisher ON versions (publisher_id);
