//! `SKILL.md` for readers that take its frontmatter for YAML, and nothing but YAML.
//!
//! This project reads `skill:` as well as `name:`, and values that are no YAML as they stand. The
//! clients of Agent Skills discovery do neither: they leave a skill out without a word unless `name`
//! and `description` are texts to YAML 1.2.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// The mark that may stand before a text.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Most events of YAML that are read: the bound of frontmatter is far below.
const MAX_EVENTS: usize = 100_000;

/// Why such a reader does not take a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// The lines that begin and end it are not just `---`.
    #[error("the frontmatter of its `SKILL.md` does not lie between two lines `---`")]
    Fences,
    /// Not YAML.
    #[error("the frontmatter of its `SKILL.md` is not YAML as it stands: put its values in quotes")]
    NotYaml,
    /// `name` is no text.
    #[error("`name` in its `SKILL.md` is no text to YAML: put it in quotes")]
    Name,
    /// `description` is no text.
    #[error("`description` in its `SKILL.md` is no text to YAML: put it in quotes")]
    Description,
}

/// The file as such a reader takes it: as it is, or with the one line `name: …` inserted behind the
/// first `---` where it has none.
pub fn readable<'s>(source: &'s [u8], name: &str) -> Result<Cow<'s, [u8]>, Unread> {
    let (start, frontmatter) = divide(source)?;
    let said = Said::of(frontmatter)?;
    if said.name == Told::Absent {
        let line_end = if source.get(..start).is_some_and(|head| head.ends_with(b"\r\n")) {
            "\r\n"
        } else {
            "\n"
        };
        let name = if is_text(name) { name.to_owned() } else { format!("\"{name}\"") };
        let (head, tail) = source.split_at_checked(start).ok_or(Unread::Fences)?;
        let inserted = [head, format!("name: {name}{line_end}").as_bytes(), tail].concat();
        let (_, frontmatter) = divide(&inserted)?;
        Said::of(frontmatter)?.check()?;
        return Ok(Cow::Owned(inserted));
    }
    said.check()?;
    Ok(Cow::Borrowed(source))
}

/// Where the frontmatter starts, and what it is: up to the first line that starts with `---`, as the
/// clients have it.
fn divide(source: &[u8]) -> Result<(usize, &str), Unread> {
    let text = std::str::from_utf8(source).map_err(|_| Unread::Fences)?;
    let rest = source.strip_prefix(MARK).unwrap_or(source);
    let fence: &[u8] = [&b"---\n"[..], b"---\r\n"]
        .into_iter()
        .find(|fence| rest.starts_with(fence))
        .ok_or(Unread::Fences)?;
    let start = source.len() - rest.len() + fence.len();
    let behind = text.get(start..).ok_or(Unread::Fences)?;
    let end = behind.find("\n---").ok_or(Unread::Fences)?;
    let frontmatter = behind.get(..end).ok_or(Unread::Fences)?;
    Ok((start, frontmatter.strip_suffix('\r').unwrap_or(frontmatter)))
}

/// What stands under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Absent,
    Text,
    Other,
}

/// What the frontmatter says of the keys that matter.
struct Said {
    skill: Told,
    name: Told,
    description: Told,
}

impl Said {
    fn of(frontmatter: &str) -> Result<Self, Unread> {
        let mut said = Self { skill: Told::Absent, name: Told::Absent, description: Told::Absent };
        for (key, value) in members(frontmatter).ok_or(Unread::NotYaml)? {
            let place = match key.as_str() {
                "skill" => &mut said.skill,
                "name" => &mut said.name,
                "description" => &mut said.description,
                _ => continue,
            };
            *place =
                if value.is_some_and(|(_, is_text)| is_text) { Told::Text } else { Told::Other };
        }
        Ok(said)
    }

    fn check(&self) -> Result<(), Unread> {
        match (self.name, self.description) {
            (Told::Text, Told::Text) => Ok(()),
            (Told::Text, _) => Err(Unread::Description),
            _ => Err(Unread::Name),
        }
    }
}

/// The text of a scalar, and whether it is a text to YAML.
type Scalar = Option<(String, bool)>;

/// The keys of the mapping that `yaml` is, and what stands under each where that is a scalar; [`None`]
/// where it is none.
fn members(yaml: &str) -> Option<Vec<(String, Scalar)>> {
    let mut members: Vec<(String, Scalar)> = Vec::new();
    let (mut depth, mut key, mut documents) = (0_usize, None, 0);
    for (count, event) in Parser::new_from_str(yaml).enumerate() {
        if count > MAX_EVENTS {
            return None;
        }
        let (event, _) = event.ok()?;
        match event {
            Event::DocumentStart(_) => documents += 1,
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                match (depth, &event) {
                    (0, Event::MappingStart(..)) => {}
                    (0, _) => return None,
                    (1, _) => members.push((key.take()?, None)),
                    _ => {}
                }
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => depth = depth.checked_sub(1)?,
            Event::Alias(_) => return None,
            Event::Scalar(text, style, ..) => match (depth, key.take()) {
                (0, _) => return None,
                (1, None) => key = Some(text.into_owned()),
                (1, Some(key)) => {
                    let is_text = style != ScalarStyle::Plain || is_text(&text);
                    members.push((key, Some((text.into_owned(), is_text))));
                }
                _ => {}
            },
            _ => {}
        }
    }
    let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    let is_unique = keys.windows(2).all(|pair| pair.first() != pair.last());
    (documents == 1 && is_unique).then_some(members)
}

/// The scalar under a key of the mapping that `yaml` is, as it is written.
pub fn scalar(yaml: &str, key: &str) -> Option<String> {
    let members = members(yaml)?;
    let (_, value) = members.into_iter().find(|(name, _)| name == key)?;
    value.map(|(text, _)| text)
}

/// Whether a plain scalar is a text by the core schema of YAML 1.2, and not a number, a truth value or
/// nothing.
fn is_text(plain: &str) -> bool {
    let is_word = matches!(
        plain,
        "" | "~"
            | "null"
            | "Null"
            | "NULL"
            | "true"
            | "True"
            | "TRUE"
            | "false"
            | "False"
            | "FALSE"
    );
    !is_word && !is_number(plain)
}

fn is_number(plain: &str) -> bool {
    let digits = |text: &str, radix: u32| {
        !text.is_empty() && text.chars().all(|character| character.is_digit(radix))
    };
    if let Some(octal) = plain.strip_prefix("0o") {
        return digits(octal, 8);
    }
    if let Some(hexadecimal) = plain.strip_prefix("0x") {
        return digits(hexadecimal, 16);
    }
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(plain, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
        }
        None => (unsigned, None),
    };
    if exponent.is_some_and(|exponent| !digits(exponent, 10)) {
        return false;
    }
    match mantissa.split_once('.') {
        Some((whole, part)) => {
            let fits = |text: &str| text.is_empty() || digits(text, 10);
            fits(whole) && fits(part) && !(whole.is_empty() && part.is_empty())
        }
        None => digits(mantissa, 10),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_with_both_keys_is_served_as_it_is() {
        for source in [
            "---\nname: pdf\ndescription: Reads.\n---\n# x\n",
            "---\nskill: pdf\nname: pdf\ndescription: Reads.\n---\n# x\n",
            "---\r\nname: pdf\r\ndescription: Reads.\r\n---\r\n# x\r\n",
            "\u{feff}---\nname: pdf\ndescription: Reads.\n---\n# x\n",
            "---\nname: \"123\"\ndescription: >\n  Reads\n  it.\n---\n# x\n",
            "---\nname: pdf\ndescription: Reads. # not this\nmetadata: {a: [b]}\n---\n# x\n",
        ] {
            let read = readable(source.as_bytes(), "pdf");
            assert_eq!(read.as_deref(), Ok(source.as_bytes()), "{source:?}");
            assert!(matches!(read, Ok(Cow::Borrowed(_))));
        }
    }

    #[test]
    fn a_hard_skill_gets_one_line_and_nothing_else() {
        for (source, name, served) in [
            (
                "---\nskill: pdf\ndescription: Reads.\n---\n# x\n",
                "pdf",
                "---\nname: pdf\nskill: pdf\ndescription: Reads.\n---\n# x\n",
            ),
            (
                "\u{feff}---\r\nskill: pdf\r\ndescription: Reads.\r\n---\r\n# x\r\n",
                "pdf",
                "\u{feff}---\r\nname: pdf\r\nskill: pdf\r\ndescription: Reads.\r\n---\r\n# x\r\n",
            ),
            (
                "---\nskill: '7'\ndescription: Reads.\n---\n# x\n",
                "7",
                "---\nname: \"7\"\nskill: '7'\ndescription: Reads.\n---\n# x\n",
            ),
            (
                "---\nskill: 7\ndescription: Reads.\n---\n# x\n",
                "7",
                "---\nname: \"7\"\nskill: 7\ndescription: Reads.\n---\n# x\n",
            ),
            (
                "---\nskill: \"true\"\ndescription: Reads.\n---\n# x\n",
                "true",
                "---\nname: \"true\"\nskill: \"true\"\ndescription: Reads.\n---\n# x\n",
            ),
        ] {
            let read = readable(source.as_bytes(), name).unwrap();
            assert_eq!(String::from_utf8_lossy(&read), served);
        }
    }

    #[test]
    fn what_such_a_reader_drops_is_told() {
        for (source, reason) in [
            ("---\nname: pdf\ndescription: Use when: asked\n---\nx\n", Unread::NotYaml),
            ("---\nname: pdf\ndescription: `x`\n---\nx\n", Unread::NotYaml),
            ("---\nname: 123\ndescription: x\n---\nx\n", Unread::Name),
            ("---\nname: pdf\n---\nx\n", Unread::Description),
            ("---\nname: pdf\ndescription: 1.5\n---\nx\n", Unread::Description),
            ("---\nname: pdf\ndescription: #1 in tests\n---\nx\n", Unread::Description),
            ("---\nname: pdf\ndescription: [a, b]\n---\nx\n", Unread::Description),
            ("---\nskill: pdf\ndescription: no\nname: ~\n---\nx\n", Unread::Name),
            ("---\n- name: pdf\n---\nx\n", Unread::NotYaml),
            ("---\nname: pdf\nname: pdf\ndescription: x\n---\nx\n", Unread::NotYaml),
            ("--- \nname: pdf\ndescription: x\n---\nx\n", Unread::Fences),
            ("---\nname: pdf\ndescription: x\n", Unread::Fences),
            ("name: pdf\n", Unread::Fences),
            ("", Unread::Fences),
        ] {
            assert_eq!(readable(source.as_bytes(), "pdf"), Err(reason), "{source:?}");
        }
        assert_eq!(readable(b"---\nname: \xff\n---\n", "pdf"), Err(Unread::Fences));
    }

    #[test]
    fn numbers_and_words_of_yaml_are_no_texts() {
        for plain in
            ["0", "-12", "+1", "0x1F", "0o17", "1.", ".5", "1e3", "-1.5E+3", ".inf", ".nan"]
        {
            assert!(!is_text(plain), "{plain}");
        }
        for plain in
            ["a", "1a", "0o9", "0x", "1e", "e3", "1-2", "1_000", "yes", "no", ".", "-", "1.2.3"]
        {
            assert!(is_text(plain), "{plain}");
        }
    }

    #[test]
    fn a_scalar_is_read_as_it_is_written() {
        let yaml = "name: pdf\nversion: 1.10.0\nx: [1]\n";
        assert_eq!(scalar(yaml, "version").as_deref(), Some("1.10.0"));
        assert_eq!(scalar(yaml, "x"), None);
        assert_eq!(scalar(yaml, "none"), None);
        assert_eq!(scalar("a: b: c", "a"), None);
    }

    proptest! {
        #[test]
        fn whatever_is_served_is_read(source in "(---\n)?(skill: [a-z0-9]{1,3}\n)?(name: [a-z0-9:]{0,3}\n)?description: \\PC{0,12}\n---\n") {
            if let Ok(served) = readable(source.as_bytes(), "a-1") {
                let again = readable(&served, "a-1");
                prop_assert_eq!(again.as_deref(), Ok(&*served));
                prop_assert!(served.len() >= source.len());
            }
        }
    }
}
