//! A change being made to a project: written before the first thing changes, so that whoever comes
//! after a kill can finish it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillpkg_schema::{Blake3Digest, ContentAddress, QualifiedName, Sha256Digest};

use super::document::Durable;
use super::{Placement, ProjectState, State};
use crate::Error;

/// What stands at a place, as far as it is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupant {
    /// The snapshot.
    pub address: ContentAddress,
    /// How it is there.
    pub placement: Placement,
    /// Whether it goes even where its user has edited it.
    #[serde(default)]
    pub discard_edits: bool,
    /// What another tool placed there, where it is that which is taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Foreign>,
}

/// What another tool placed, exactly as it was found: it goes only while it is still that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Foreign {
    /// A directory, by one digest of all that it holds.
    Tree(Sha256Digest),
    /// A link, by what it says.
    Link(PathBuf),
}

/// One thing that changes in an agent's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Where, absolute.
    pub path: PathBuf,
    /// The skill.
    pub name: QualifiedName,
    /// What is there before; [`None`] where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Occupant>,
    /// What is there after; [`None`] where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Occupant>,
    /// Whether the edits of the copy that is there are merged into the one that comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merges: bool,
    /// What was made of both, by all that it holds: the copy that comes, while nobody sees it yet;
    /// [`None`] where nothing was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Blake3Digest>,
}

/// What becomes of one of the project's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    /// The text before; [`None`] where there is no file. Whoever finishes the change leaves a file
    /// alone that says neither this nor what is to come: somebody else wrote it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text afterwards.
    pub after: String,
}

/// A change: every step of it, the project's files and the state as they are afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// In the order in which they are made.
    pub steps: Vec<Step>,
    /// What becomes of `skillpkg.toml`; [`None`] where it does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<TextChange>,
    /// What becomes of `skillpkg.lock`; [`None`] where it does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<TextChange>,
    /// What is remembered afterwards.
    pub state: ProjectState,
}

impl State {
    /// The change that was begun in the project at `root` and not ended; [`None`] where none was.
    pub fn journal(&self, root: &Path) -> Result<Option<Journal>, Error> {
        Ok(self.record(root, "journal").read()?)
    }

    /// Writes down a change before it is begun. On disk when this answers: the machine may stop
    /// at any moment after it, and the change is finished by whoever opens the project next.
    pub fn begin(&self, root: &Path, journal: &Journal) -> Result<(), Error> {
        Ok(self.record(root, "journal").write_as(journal, Durable::Yes)?)
    }

    /// Forgets a change that was made whole, or taken back whole.
    pub fn end(&self, root: &Path) -> Result<(), Error> {
        Ok(self.record(root, "journal").remove()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Placed;
    use proptest::prelude::*;

    fn journal(path: &str, discard_edits: bool, before: bool) -> Journal {
        let address = Sha256Digest::of(b"snapshot").address();
        let name: QualifiedName = "acme/waitlist".parse().unwrap();
        let found = None;
        let occupant =
            |placement| Occupant { address, placement, discard_edits, found: found.clone() };
        let path = PathBuf::from(path);
        Journal {
            steps: vec![Step {
                path: path.clone(),
                name: name.clone(),
                before: before.then(|| occupant(Placement::Copy)),
                after: Some(occupant(Placement::Link)),
                merges: discard_edits,
                merged: discard_edits.then(|| Blake3Digest::of(b"merged")),
            }],
            project: None,
            lock: Some(TextChange { before: None, after: "version = 1\n".to_owned() }),
            state: ProjectState {
                placed: vec![Placed {
                    path,
                    name: name.clone(),
                    address,
                    placement: Placement::Link,
                    agents: vec!["universal".to_owned()],
                }],
                active: Vec::new(),
                inactive: vec![name],
                copies: Vec::new(),
                agents: None,
            },
        }
    }

    #[test]
    fn a_journal_is_written_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        let (state, root) = (State::new(home.path()), home.path());
        state.begin(root, &journal("/p/.agents/skills/waitlist", true, true)).unwrap();
        insta::assert_snapshot!(
            std::fs::read_to_string(state.record(root, "journal").path()).unwrap()
        );
        state.end(root).unwrap();
        assert_eq!(state.journal(root).unwrap(), None);
        state.end(root).unwrap();
    }

    #[test]
    fn what_another_tool_placed_is_written_as_it_was_found() {
        let tree = Foreign::Tree(Sha256Digest::of(b"theirs"));
        let link = Foreign::Link("../theirs".into());
        for (foreign, start) in [(tree, "{\"tree\":\"4c55a855"), (link, "{\"link\":\"../theirs\"}")]
        {
            let text = serde_json::to_string(&foreign).unwrap();
            assert!(text.starts_with(start), "{text}");
            assert_eq!(serde_json::from_str::<Foreign>(&text).unwrap(), foreign);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn a_journal_is_read_as_it_is_written(
            path in "/\\PC{1,20}",
            discard_edits: bool,
            before: bool,
        ) {
            let journal = journal(&path, discard_edits, before);
            let text = serde_json::to_string(&journal).unwrap();
            prop_assert_eq!(serde_json::from_str::<Journal>(&text).unwrap(), journal);
        }
    }
}
