//! Which names a reader would take for one another.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use typomania::checks::{
    Check, Omitted, Repeated, SwappedCharacters, SwappedWords, Typos, Version,
};
use typomania::{AuthorSet, Corpus, Package};

/// Shorter names are not compared letter by letter: most of three or four letters are near another.
const SHORTEST_COMPARED: usize = 5;
/// Most words of which every order is compared.
const MOST_WORDS: usize = 4;
/// What stands before or behind a name without making it another.
const AFFIXES: [&str; 18] = [
    "agent", "ai", "app", "cli", "core", "dev", "go", "js", "lib", "node", "official", "py",
    "python", "rs", "rust", "skill", "skills", "ts",
];

/// How a name is like another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Likeness {
    /// It is the same but for signs that read alike.
    ReadsAlike,
    /// It leaves a letter out.
    Omits,
    /// It doubles a letter.
    Doubles,
    /// Two letters have changed places.
    SwapsLetters,
    /// Its words stand in another order.
    SwapsWords,
    /// A letter is the one beside it on a keyboard.
    Mistypes,
    /// It has a number behind it.
    Numbers,
    /// It is its plural, or its singular.
    Pluralises,
    /// It has such a word before or behind it as `cli` or `skill`, or lacks it.
    Affixes,
    /// It is the same letters, put into words otherwise.
    Parts,
}

impl Likeness {
    const ALL: [Self; 10] = [
        Self::ReadsAlike,
        Self::Omits,
        Self::Doubles,
        Self::SwapsLetters,
        Self::SwapsWords,
        Self::Mistypes,
        Self::Numbers,
        Self::Pluralises,
        Self::Affixes,
        Self::Parts,
    ];

    /// The word of it that a row holds.
    pub fn text(self) -> &'static str {
        match self {
            Self::ReadsAlike => "reads_alike",
            Self::Omits => "omits",
            Self::Doubles => "doubles",
            Self::SwapsLetters => "swaps_letters",
            Self::SwapsWords => "swaps_words",
            Self::Mistypes => "mistypes",
            Self::Numbers => "numbers",
            Self::Pluralises => "pluralises",
            Self::Affixes => "affixes",
            Self::Parts => "parts",
        }
    }

    /// What it does to the other name, to be followed by that name.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadsAlike => "reads like",
            Self::Omits => "leaves a letter out of",
            Self::Doubles => "doubles a letter of",
            Self::SwapsLetters => "swaps two letters of",
            Self::SwapsWords => "swaps words of",
            Self::Mistypes => "is a slip of a finger away from",
            Self::Numbers => "puts a number behind",
            Self::Pluralises => "is the plural or singular of",
            Self::Affixes => "adds a word to, or takes one from,",
            Self::Parts => "puts into other words the letters of",
        }
    }
}

impl fmt::Display for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// A text that is no likeness.
#[derive(Debug, thiserror::Error)]
#[error("not a likeness")]
pub struct LikenessError;

impl FromStr for Likeness {
    type Err = LikenessError;

    fn from_str(text: &str) -> Result<Self, LikenessError> {
        Self::ALL.into_iter().find(|likeness| likeness.text() == text).ok_or(LikenessError)
    }
}

/// A name that another is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resemblance {
    /// The name that is there.
    pub name: String,
    /// How the other is like it.
    pub likeness: Likeness,
}

impl fmt::Display for Resemblance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.likeness, self.name)
    }
}

/// Names that others are compared with.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// By what signs that read alike make one.
    by_key: HashMap<String, String>,
    /// By their letters alone, however these are put into words.
    by_letters: HashMap<String, Vec<String>>,
}

/// The letters of what names that read alike share.
fn letters(key: &str) -> String {
    key.replace('-', "")
}

/// What names that read alike share, as a registry's collision key.
fn key(name: &str) -> String {
    name.replace('_', "-").replace('0', "o").replace('1', "l")
}

impl Names {
    /// The names that a name is like, each once, the most telling likeness of it; none where it is
    /// one of them itself.
    ///
    /// The work is bounded by the length of the name, whatever the number of names.
    pub fn resembled_by(&self, name: &str) -> Vec<Resemblance> {
        let key = key(name);
        match self.by_key.get(&key) {
            Some(same) if same == name => return Vec::new(),
            Some(same) => {
                return vec![Resemblance { name: same.clone(), likeness: Likeness::ReadsAlike }];
            }
            None => {}
        }
        let mut found: Vec<Resemblance> = Vec::new();
        for (likeness, near) in self.compared(&key).chain(plural(&key)).chain(affixed(&key)) {
            let Some(near) = self.by_key.get(&near) else { continue };
            if !found.iter().any(|one| one.name == *near) {
                found.push(Resemblance { name: near.clone(), likeness });
            }
        }
        let letters = letters(&key);
        let alike = self.by_letters.get(&letters).filter(|_| letters.len() >= SHORTEST_COMPARED);
        for near in alike.into_iter().flatten() {
            if !found.iter().any(|one| one.name == *near) {
                found.push(Resemblance { name: near.clone(), likeness: Likeness::Parts });
            }
        }
        found
    }

    /// What is found letter by letter and word by word.
    fn compared(&self, key: &str) -> impl Iterator<Item = (Likeness, String)> {
        let words = key.split('-').count();
        let squats = CHECKS
            .iter()
            // Every order of many words is too many to look at.
            .filter(move |(likeness, _)| *likeness != Likeness::SwapsWords || words <= MOST_WORDS)
            // This corpus refuses nothing, so that no check fails.
            .flat_map(|(likeness, check)| {
                let squats = check.check(self, key, &Nobodys).unwrap_or_default();
                squats.into_iter().map(|squat| (*likeness, squat.package().to_owned()))
            })
            .collect::<Vec<_>>();
        squats.into_iter().filter(|(likeness, near)| {
            let by_letter = !matches!(likeness, Likeness::SwapsWords | Likeness::Numbers);
            !by_letter || near.len() >= SHORTEST_COMPARED
        })
    }
}

impl<T: AsRef<str>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let names = names.into_iter();
        let by_key: HashMap<String, String> =
            names.map(|name| (key(name.as_ref()), name.as_ref().to_owned())).collect();
        let mut by_letters: HashMap<String, Vec<String>> = HashMap::new();
        for (key, name) in &by_key {
            by_letters.entry(letters(key)).or_default().push(name.clone());
        }
        // In one order, whatever that of the map.
        for names in by_letters.values_mut() {
            names.sort_unstable();
        }
        Self { by_key, by_letters }
    }
}

impl Corpus for Names {
    fn contains_name(&self, name: &str) -> typomania::Result<bool> {
        Ok(self.by_key.contains_key(name))
    }

    fn get(&self, _: &str) -> typomania::Result<Option<&dyn Package>> {
        Ok(None)
    }

    /// Whose the names are is asked of the database, of the few that are found.
    fn possible_squat(&self, near: &str, name: &str, _: &dyn Package) -> typomania::Result<bool> {
        Ok(near != name && self.by_key.contains_key(near))
    }
}

/// A package of no author, since authors are compared elsewhere.
struct Nobodys;

impl Package for Nobodys {
    fn authors(&self) -> &dyn AuthorSet {
        self
    }

    fn description(&self) -> Option<&str> {
        None
    }

    fn shared_authors(&self, _: &dyn AuthorSet) -> bool {
        false
    }
}

impl AuthorSet for Nobodys {
    fn contains(&self, _: &str) -> bool {
        false
    }
}

/// The most telling first.
static CHECKS: LazyLock<Vec<(Likeness, Box<dyn Check>)>> = LazyLock::new(|| {
    let omitted = Omitted::new("abcdefghijklmnopqrstuvwxyz23456789-");
    vec![
        (Likeness::SwapsLetters, Box::new(SwappedCharacters) as Box<dyn Check>),
        (Likeness::Doubles, Box::new(Repeated)),
        (Likeness::Omits, Box::new(omitted)),
        (Likeness::Mistypes, Box::new(Typos::new(neighbours()))),
        (Likeness::Numbers, Box::new(Version)),
        (Likeness::SwapsWords, Box::new(SwappedWords::new("-").with_max_k(MOST_WORDS))),
    ]
});

/// The letters beside each letter, on a keyboard of the most common order.
fn neighbours() -> impl Iterator<Item = (char, Vec<String>)> {
    const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
    // Of a row below, the key at a place stands under the places from there to one further on.
    let at = |row: usize, place: usize| ROWS.get(row).and_then(|row| row.chars().nth(place));
    ROWS.iter().enumerate().flat_map(move |(row, letters)| {
        letters.chars().enumerate().map(move |(place, letter)| {
            let mut beside = vec![at(row, place + 1), at(row + 1, place)];
            if let Some(before) = place.checked_sub(1) {
                beside.extend([at(row, before), at(row + 1, before)]);
            }
            if let Some(above) = row.checked_sub(1) {
                beside.extend([at(above, place), at(above, place + 1)]);
            }
            (letter, beside.into_iter().flatten().map(String::from).collect())
        })
    })
}

/// What a name is the plural or the singular of.
fn plural(key: &str) -> Vec<(Likeness, String)> {
    let mut near = vec![format!("{key}s"), format!("{key}es")];
    near.extend(["s", "es"].iter().filter_map(|end| key.strip_suffix(end)).map(str::to_owned));
    near.into_iter()
        .filter(|near| near.len() >= SHORTEST_COMPARED)
        .map(|near| (Likeness::Pluralises, near))
        .collect()
}

/// What a name is with an affix more or less.
fn affixed(key: &str) -> Vec<(Likeness, String)> {
    let mut near = Vec::new();
    for affix in AFFIXES {
        for between in ["-", ""] {
            // Without a hyphen only what could not be the end of another word.
            if between.is_empty() && affix.len() < 3 {
                continue;
            }
            let (before, behind) = (format!("{affix}{between}"), format!("{between}{affix}"));
            near.extend(key.strip_prefix(&before).map(str::to_owned));
            near.extend(key.strip_suffix(&behind).map(str::to_owned));
            near.extend([format!("{before}{key}"), format!("{key}{behind}")]);
        }
    }
    near.into_iter().map(|near| (Likeness::Affixes, near)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Names {
        ["lodash", "pdf-tools", "waitlist", "left-pad", "notes", "react", "pdf", "sqlite3"]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_name_that_reads_like_another_is_found_with_how() {
        use Likeness::*;
        for (name, resembled, likeness) in [
            ("lodahs", "lodash", SwapsLetters),
            ("oldash", "lodash", SwapsLetters),
            ("lodas", "lodash", Omits),
            ("odash", "lodash", Omits),
            ("loddash", "lodash", Doubles),
            ("lodashh", "lodash", Doubles),
            ("lodssh", "lodash", Mistypes),
            ("kodash", "lodash", Mistypes),
            ("lodash2", "lodash", Numbers),
            ("lodash-4", "lodash", Numbers),
            ("lodash-cli", "lodash", Affixes),
            ("rs-lodash", "lodash", Affixes),
            ("lodash-skill", "lodash", Affixes),
            ("skill-lodash", "lodash", Affixes),
            ("lodash_py", "lodash", Affixes),
            ("lodash-js", "lodash", Affixes),
            ("lodashcli", "lodash", Affixes),
            ("official-lodash", "lodash", Affixes),
            ("pdf-skill", "pdf", Affixes),
            ("tools-pdf", "pdf-tools", SwapsWords),
            ("pdftools", "pdf-tools", Omits),
            ("pdf-tool", "pdf-tools", Omits),
            ("note", "notes", Omits),
            ("waitlists", "waitlist", Pluralises),
            ("waittlist", "waitlist", Doubles),
            ("wait1ist", "waitlist", ReadsAlike),
            ("l0dash", "lodash", ReadsAlike),
            ("left_pad", "left-pad", ReadsAlike),
            ("leftpad", "left-pad", Omits),
            ("pad-left", "left-pad", SwapsWords),
            ("raect", "react", SwapsLetters),
            ("lod-ash", "lodash", Parts),
            ("lo_da_sh", "lodash", Parts),
            ("pdf-too-ls", "pdf-tools", Parts),
            ("l-o-d-a-s-h", "lodash", Parts),
        ] {
            let found = names().resembled_by(name);
            let first = found.first().map(|found| (found.name.as_str(), found.likeness));
            assert_eq!(first, Some((resembled, likeness)), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_name_of_its_own_passes() {
        for name in [
            "lodash",
            "notes",
            "pdf-tools",
            "votes",
            "pdx",
            "pff",
            "docx",
            "redact",
            "waiting-room",
            "ledash-board",
            "low-dash",
            "lodestar",
            "notary",
            "postgres",
            "sqlite4x",
            "a",
            "left",
            "react-native",
            "pdf-forms",
            "lodash-es-compat",
            "preact-router",
        ] {
            assert_eq!(names().resembled_by(name), [], "{name}");
        }
    }

    #[test]
    fn the_longest_name_of_the_most_words_is_compared_in_no_time() {
        let name = "a-".repeat(31) + "bb";
        let start = std::time::Instant::now();
        assert_eq!(names().resembled_by(&name), []);
        assert!(start.elapsed() < std::time::Duration::from_millis(500), "{:?}", start.elapsed());
    }

    #[test]
    fn a_likeness_is_read_as_it_is_written() {
        for likeness in Likeness::ALL {
            assert_eq!(likeness.text().parse::<Likeness>().ok(), Some(likeness));
        }
        assert!("other".parse::<Likeness>().is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_name_panics_and_none_is_like_itself(name in "[a-z0-9]{1,9}([-_][a-z0-9]{1,9}){0,5}") {
            let alone: Names = [&name].into_iter().collect();
            prop_assert_eq!(alone.resembled_by(&name), []);
            names().resembled_by(&name);
        }

        #[test]
        fn every_letter_left_out_doubled_or_swapped_is_found(
            name in "[a-z]{6,12}",
            at in 0_usize..5,
        ) {
            let names: Names = [&name].into_iter().collect();
            let (before, rest) = name.split_at(at);
            let mut letters = rest.chars();
            let (one, other) = (letters.next().unwrap(), letters.next().unwrap());
            let rest = letters.as_str();
            for near in [
                format!("{before}{other}{rest}"),
                format!("{before}{one}{one}{other}{rest}"),
                format!("{before}{other}{one}{rest}"),
            ] {
                prop_assert_eq!(names.resembled_by(&near).len(), usize::from(near != name), "{}", near);
            }
        }
    }
}
