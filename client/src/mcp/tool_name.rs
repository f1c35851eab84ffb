//! The names under which hosts see tools and prompts.
//!
//! The protocol allows dots and 128 characters. Hosts do not: several refuse all tools of a server
//! for one name outside `[A-Za-z0-9_-]{1,64}`, and count a prefix of theirs as part of it.

use std::collections::HashMap;

use skillpkg_schema::{QualifiedName, Sha256Digest};

/// Most characters of a name; hosts put a prefix such as `mcp__skillpkg__` before it.
const MOST: usize = 40;
/// Characters of the digest behind a name that is shortened or shared.
const DIGITS: usize = 8;
/// Most characters that are kept of a capability's name where the whole is shortened.
const MOST_OF_CAPABILITY: usize = 20;

/// What a name is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named<'a> {
    /// The skill.
    pub(super) skill: &'a QualifiedName,
    /// The directory name that agents see.
    pub(super) placed_as: &'a str,
    /// The tool, script or resource; [`None`] for the skill itself.
    pub(super) capability: Option<&'a str>,
}

impl Named<'_> {
    /// `SKILL-CAPABILITY`, where that is a name.
    fn plain(&self) -> Option<String> {
        let name = match self.capability {
            Some(capability) => format!("{}-{capability}", self.placed_as),
            None => self.placed_as.to_owned(),
        };
        let is_name = name.len() <= MOST && name.bytes().all(is_taken);
        (is_name && !name.is_empty()).then_some(name)
    }

    /// A name that ends in a digest of what it stands for.
    fn digested(&self) -> String {
        let identity = format!("{}\n{}", self.skill, self.capability.unwrap_or_default());
        let digest = Sha256Digest::of(identity.as_bytes()).to_string();
        let digits = digest.rsplit(':').next().unwrap_or_default();
        let room = MOST - DIGITS - 1;
        let capability = cleaned(self.capability.unwrap_or_default(), MOST_OF_CAPABILITY);
        let skill = cleaned(self.placed_as, room - capability.len() - 1);
        let digits: String = digits.chars().take(DIGITS).collect();
        match capability.as_str() {
            "" => format!("{skill}-{digits}"),
            _ => format!("{skill}-{capability}-{digits}"),
        }
    }
}

fn is_taken(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// At most `most` characters, all of them taken in a name.
fn cleaned(text: &str, most: usize) -> String {
    let taken = |character: char| u8::try_from(character).is_ok_and(is_taken);
    let kept = |character| if taken(character) { character } else { '_' };
    text.chars().take(most).map(kept).collect()
}

/// The names, in the same order; each one once. [`None`] for what cannot have one of its own.
///
/// What would share a name has a digest behind it on both sides, so that neither takes the place of
/// the other when the other goes.
pub(super) fn names(all: &[Named<'_>]) -> Vec<Option<String>> {
    let plain: Vec<Option<String>> = all.iter().map(Named::plain).collect();
    let shared = counted(plain.iter().flatten());
    let wanted: Vec<String> = all
        .iter()
        .zip(&plain)
        .map(|(named, plain)| match plain {
            Some(name) if shared.get(name) == Some(&1) => name.clone(),
            _ => named.digested(),
        })
        .collect();
    let shared = counted(wanted.iter());
    wanted.iter().map(|name| (shared.get(name) == Some(&1)).then(|| name.clone())).collect()
}

fn counted<'a>(names: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
    let mut counted = HashMap::new();
    for name in names {
        *counted.entry(name.clone()).or_insert(0) += 1;
    }
    counted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(all: &[(&str, &str, &str)]) -> Vec<Option<String>> {
        let skills: Vec<QualifiedName> =
            all.iter().map(|(name, ..)| name.parse().unwrap()).collect();
        let named: Vec<Named<'_>> = all
            .iter()
            .zip(&skills)
            .map(|((_, placed_as, capability), skill)| Named {
                skill,
                placed_as,
                capability: (!capability.is_empty()).then_some(*capability),
            })
            .collect();
        names(&named)
    }

    #[test]
    fn a_tool_is_called_after_its_skill_and_itself() {
        let all = [("acme/waitlist", "waitlist", "access"), ("plain", "plain", "")];
        assert_eq!(of(&all), [Some("waitlist-access".to_owned()), Some("plain".to_owned())]);
    }

    #[test]
    fn what_would_share_a_name_has_a_digest_on_both_sides() {
        let both = of(&[("a-b", "a-b", "c"), ("a", "a", "b-c")]);
        assert_eq!(both, [Some("a-b-c-9411e0b6".to_owned()), Some("a-b-c-ed587551".to_owned())]);
        assert_eq!(of(&[("a", "a", "b-c")]), [Some("a-b-c".to_owned())]);
    }

    #[test]
    fn a_long_name_keeps_the_start_of_both_parts_and_a_digest() {
        let long = "manages-the-long-waiting-list-of-our-customers";
        let named = of(&[(long, long, "move_everybody_one_place_up")]);
        assert_eq!(named, [Some("manages-th-move_everybody_one_p-51e78c48".to_owned())]);
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_hosts_take_and_none_stands_twice(
            all in prop::collection::vec(("[a-c]{1,2}(-[a-c]){0,30}", "[A-Za-z0-9_-]{0,64}|\\PC{0,10}"), 0..12),
        ) {
            let all: Vec<(&str, &str, &str)> =
                all.iter().map(|(skill, tool)| (skill.as_str(), skill.as_str(), tool.as_str())).collect();
            let all: Vec<_> = all.iter().filter(|(name, ..)| name.parse::<QualifiedName>().is_ok()).copied().collect();
            let named = of(&all);
            let mut seen = std::collections::HashSet::new();
            for (name, one) in named.iter().zip(&all) {
                if let Some(name) = name {
                    prop_assert!((1..=40).contains(&name.len()) && name.bytes().all(is_taken));
                    prop_assert!(seen.insert(name.clone()));
                } else {
                    prop_assert!(all.iter().filter(|other| *other == one).count() > 1);
                }
            }
        }
    }
}
