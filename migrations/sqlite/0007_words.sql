-- What search finds skills by: the words of their name, their description and what they can do.

CREATE TABLE skill_words (
    -- In lower case, without diacritics.
    word     TEXT NOT NULL,
    skill_id INTEGER NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    -- Where it stands: 2 in the name, 1 in the description, 0 in what the skill can do.
    place    INTEGER NOT NULL,
    PRIMARY KEY (word, skill_id)
) WITHOUT ROWID;
CREATE INDEX skill_words_of_skill ON skill_words (skill_id);

-- The same of what is mirrored.
CREATE TABLE mirrored_words (
    word     TEXT NOT NULL,
    skill_id INTEGER NOT NULL REFERENCES mirrored_skills (id) ON DELETE CASCADE,
    place    INTEGER NOT NULL,
    PRIMARY KEY (word, skill_id)
) WITHOUT ROWID;
CREATE INDEX mirrored_words_of_skill ON mirrored_words (skill_id);

-- How the program that wrote them makes words of a text: another one writes all anew.
CREATE TABLE words_state (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    form BIGINT NOT NULL
);
INSERT INTO words_state (id, form) VALUES (1, 0);

DROP TABLE skill_text;
DROP TABLE mirrored_text;
