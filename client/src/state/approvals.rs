//! What was approved on this machine: a snapshot, once, by its address.

use serde::{Deserialize, Serialize};
use skillpkg_schema::{Blake3Digest, ContentAddress, QualifiedName, Version};

use super::State;
use super::document::Stored;
use crate::Error;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Approval {
    name: QualifiedName,
    #[serde(rename = "skill_version")]
    version: Version,
    address: ContentAddress,
}

impl State {
    /// Whether what the snapshot runs was approved on this machine.
    pub fn is_approved(&self, snapshot: &ContentAddress) -> Result<bool, Error> {
        let approval = self.approval(snapshot).read::<Approval>()?;
        // A file renamed by hand approves nothing else than what it says.
        Ok(approval.is_some_and(|approval| approval.address == *snapshot))
    }

    /// Remembers that what the snapshot of `name` runs was approved. Atomic.
    ///
    /// `snapshot` is a SHA-256 address.
    pub fn approve(
        &self,
        name: &QualifiedName,
        version: &Version,
        snapshot: &ContentAddress,
    ) -> Result<(), Error> {
        let approval =
            Approval { name: name.clone(), version: version.clone(), address: *snapshot };
        self.approval(snapshot).write(&approval)?;
        self.latest_approval(name).write(&approval)?;
        Ok(())
    }

    /// The snapshot of `name` that was approved last, if any was.
    pub fn last_approved(&self, name: &QualifiedName) -> Result<Option<ContentAddress>, Error> {
        let approval = self.latest_approval(name).read::<Approval>()?;
        Ok(approval.filter(|approval| approval.name == *name).map(|approval| approval.address))
    }

    fn approval(&self, snapshot: &ContentAddress) -> Stored {
        Stored::new(self.directory.join("approvals").join(format!("{}.json", snapshot.hex())))
    }

    /// The last one of a name, so that it is found without reading them all.
    fn latest_approval(&self, name: &QualifiedName) -> Stored {
        let key = Blake3Digest::of(name.to_string().as_bytes()).to_string();
        let key = key.get(..32).unwrap_or(&key);
        Stored::new(self.directory.join("approvals/names").join(format!("{key}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::Sha256Digest;

    #[test]
    fn an_approval_is_of_one_snapshot_and_the_last_of_a_name_is_known() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let name: QualifiedName = "acme/waitlist".parse().unwrap();
        let (first, second) = (Sha256Digest::of(b"1").address(), Sha256Digest::of(b"2").address());
        assert!(!state.is_approved(&first).unwrap());
        assert_eq!(state.last_approved(&name).unwrap(), None);
        state.approve(&name, &"1.0.0".parse().unwrap(), &first).unwrap();
        state.approve(&name, &"1.1.0".parse().unwrap(), &second).unwrap();
        assert!(state.is_approved(&first).unwrap() && state.is_approved(&second).unwrap());
        assert_eq!(state.last_approved(&name).unwrap(), Some(second));
        assert_eq!(state.last_approved(&"waitlist".parse().unwrap()).unwrap(), None);
    }
}
