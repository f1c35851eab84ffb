//! Questions that a client was given to bring back with an answer.
//!
//! Since revision 2026-07-28 a server asks by an unfinished result, and the client repeats its
//! request with the answer. What it brings back is not believed: it is the key to what is remembered
//! here, once.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::chance;
use crate::host::PermissionRequest;

/// Most questions that are open at once; the oldest gives way.
const MOST: usize = 256;
/// How long a question is open.
const PATIENCE: Duration = Duration::from_mins(10);

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// The tool's name as the host sees it.
    pub(super) tool: String,
    /// Its arguments as text.
    pub(super) arguments: String,
    /// What would run.
    pub(super) request: PermissionRequest,
}

/// Questions that are open.
#[derive(Debug, Default)]
pub(super) struct Pending {
    open: Mutex<VecDeque<(String, Instant, Question)>>,
}

impl Pending {
    /// Remembers a question; answers with the key that its answer is brought back with. [`None`]
    /// where the system gives no random bytes.
    pub(super) fn ask(&self, question: Question) -> Option<String> {
        let key = chance::digits::<16>().ok()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST {
            open.pop_front();
        }
        open.push_back((key.clone(), Instant::now(), question));
        Some(key)
    }

    /// What was asked under `key`, where it is still open. It no longer is after.
    pub(super) fn take(&self, key: &str) -> Option<Question> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, asked, _)| asked.elapsed() < PATIENCE);
        let at = open.iter().position(|(known, ..)| known == key)?;
        open.remove(at).map(|(.., question)| question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::CapabilityKind;
    use skillpkg_schema::Sha256Digest;

    fn question(tool: &str) -> Question {
        Question {
            tool: tool.to_owned(),
            arguments: "{}".to_owned(),
            request: PermissionRequest {
                skill: "waitlist".parse().unwrap(),
                version: "1.0.0".parse().unwrap(),
                address: Sha256Digest::of(b"snapshot").address(),
                capability: "go".to_owned(),
                kind: CapabilityKind::Script,
                runs: Vec::new(),
                input: "{}".to_owned(),
                approved: false,
            },
        }
    }

    #[test]
    fn a_question_is_answered_once_and_only_by_its_own_key() {
        let pending = Pending::default();
        let key = pending.ask(question("a")).unwrap();
        let other = pending.ask(question("b")).unwrap();
        assert_ne!(key, other);
        assert_eq!(pending.take("guessed"), None);
        assert_eq!(pending.take(&key), Some(question("a")));
        assert_eq!(pending.take(&key), None);
        assert_eq!(pending.take(&other), Some(question("b")));
    }

    #[test]
    fn the_oldest_question_gives_way() {
        let pending = Pending::default();
        let first = pending.ask(question("first")).unwrap();
        let keys: Vec<String> = (0..MOST).map(|_| pending.ask(question("x")).unwrap()).collect();
        assert_eq!(pending.take(&first), None);
        assert!(keys.iter().all(|key| pending.take(key).is_some()));
    }
}
