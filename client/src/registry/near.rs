//! The name that was likely meant by one that a registry does not have.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::nearest;

use super::Registry;

/// Most names that are compared with the one that is not there.
const MOST_HITS: u32 = 100;

/// Whether somebody who asks for `wanted` may have meant the name `other` of the same last part.
fn is_likely(wanted: &QualifiedName, other: &QualifiedName) -> bool {
    match (wanted.scope(), other.scope()) {
        (Some(wanted), Some(other)) => nearest(wanted.as_str(), [other.as_str()]).is_some(),
        _ => true,
    }
}

impl Registry {
    /// The name nearest to one that is not there, among those that a search shows to who asks.
    ///
    /// Never the name itself: somebody may have been let in since it was asked for.
    pub async fn nearest(&self, name: &QualifiedName) -> Option<String> {
        let wanted = name.to_string();
        let bare = name.name().as_str();
        let beginning = |length| bare.chars().take(length).collect::<String>();
        // A search finds words and their beginnings: a slip is most likely in the rest.
        let half = beginning(bare.chars().count().div_ceil(2));
        for query in [bare, half.as_str(), beginning(2).as_str()] {
            let answer = self.search(query, MOST_HITS).await.ok()?;
            let names: Vec<String> = answer.skills.iter().map(|hit| hit.name.to_string()).collect();
            let others = names.iter().map(String::as_str).filter(|other| *other != wanted);
            // The right name in another scope, or without its scope, is no slip of a letter.
            let same = answer.skills.iter().map(|hit| &hit.name).find(|other| {
                *other != name && other.name() == name.name() && is_likely(name, other)
            });
            if let Some(same) = same {
                return Some(same.to_string());
            }
            if let Some(near) = nearest(&wanted, others) {
                return Some(near.to_owned());
            }
        }
        None
    }
}
