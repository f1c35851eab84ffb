-- When an operator closed the account; its name stays taken.
ALTER TABLE accounts ADD COLUMN closed TEXT COLLATE "C";
