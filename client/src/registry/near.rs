//! The name that was likely meant by one that a registry does not have.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::nearest;

use super::Registry;

/// Most names that are compared with the one that is not there.
const MOST_HITS: u32 = 100;

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
            if let Some(near) = nearest(&wanted, others) {
                return Some(near.to_owned());
            }
        }
        None
    }
}
