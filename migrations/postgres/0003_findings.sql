-- What is worth an eye in the files of a version, as it was found when it was published.

-- JSON list of `{"kind","count"}`; null where nobody looked. It is part of the document, so that it
-- stays as it is when the rules get better.
ALTER TABLE versions ADD COLUMN findings TEXT COLLATE "C";
