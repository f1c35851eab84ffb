//! The checks of an activation.

use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::verify_derived;
use skillpkg_schema::{ContentAddress, Diagnostic, Manifest, SkillPath};
use skillpkg_store::content::{Store, StoreError, TreeProblem, TreeProblemKind};

use super::asked::prose_commands;
use super::{Checked, found};
use crate::eligibility::{Here, needs};
use crate::runner::RunnerSet;
use crate::{Error, Kind, Settings};

/// Checks a snapshot that is in the store: its tree re-hashed by content (extras set aside),
/// capabilities derived from the files again, contracts compiled, programs found, requirements met,
/// exactly one runner a script. Runs nothing and changes nothing that agents see.
///
/// The signature is checked by whoever fetched it, and again by `verify`.
pub fn check(store: &Store, manifest: &Manifest, settings: &Settings) -> Result<Checked, Error> {
    check_with(store, manifest, settings, &RunnerSet::configured(settings)?)
}

/// [`check`] with the runners of a host in place of the configured ones.
pub fn check_with(
    store: &Store,
    manifest: &Manifest,
    settings: &Settings,
    runners: &RunnerSet,
) -> Result<Checked, Error> {
    let (tree, repaired) = intact_tree(store, manifest)?;
    derived_again(store, manifest)?;
    let needs = needs(manifest, &tree, Here { settings, runners: Some(runners), recorded: None })?;
    let missing: Vec<Diagnostic> = needs.refusing().map(|one| one.told.clone()).collect();
    if let Some(first) = missing.first() {
        return Err(requirement_error(first.clone(), missing));
    }
    let warnings = needs.advice();
    let skill_file = SkillPath::skill_file().to_string();
    let prose_commands =
        prose_commands(store, manifest).ok_or_else(|| changed(manifest, &[skill_file]))?;
    let findings = found::look(store, manifest)?;
    Ok(Checked {
        address: manifest.address(),
        manifest: manifest.clone(),
        tree,
        programs: needs.programs,
        runners: needs.runners,
        prose_commands,
        findings,
        warnings,
        repaired,
    })
}

/// Everything that a snapshot needs and this machine lacks, as [`check`] tells it: what refuses an
/// activation, and as warnings what does not.
pub(crate) fn missing(
    manifest: &Manifest,
    tree: &Path,
    settings: &Settings,
    runners: &RunnerSet,
) -> Result<Vec<Diagnostic>, Error> {
    let needs = needs(manifest, tree, Here { settings, runners: Some(runners), recorded: None })?;
    Ok(needs.missing.into_iter().map(|one| one.told).collect())
}

/// The tree of a snapshot, every file re-hashed just now, and what had to be put right for it, as
/// sentences.
///
/// A tree that is absent is made; a file that is changed, missing, too many or of another mode is
/// set aside and made again from the store's blobs. Where a blob is damaged too, the failure has
/// the code `verification_failed` and nothing of the tree may be used.
pub fn intact_tree(store: &Store, manifest: &Manifest) -> Result<(PathBuf, Vec<String>), Error> {
    intact_tree_at(store, &manifest.address(), manifest)
}

/// [`intact_tree`] for a caller that knows the manifest's SHA-256 address.
pub fn intact_tree_at(
    store: &Store,
    address: &ContentAddress,
    manifest: &Manifest,
) -> Result<(PathBuf, Vec<String>), Error> {
    let tree = store.tree_path(address);
    let problems = match store.verify_tree_at(address, manifest) {
        Ok(problems) if problems.is_empty() => return Ok((tree, Vec::new())),
        Ok(problems) => problems,
        // Something else stands in the tree's place: repairing sets it aside.
        Err(StoreError::Misplaced { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    if store.is_looking() {
        return Err(changed(
            manifest,
            &problems.into_iter().map(|one| one.path).collect::<Vec<_>>(),
        ));
    }
    let lease = store.lease()?;
    let lost = store.repair_tree(&lease, manifest)?;
    if !lost.is_empty() {
        return Err(changed(manifest, &lost.iter().map(SkillPath::to_string).collect::<Vec<_>>()));
    }
    let left = store.verify_tree_at(address, manifest)?;
    if !left.is_empty() {
        return Err(changed(manifest, &left.into_iter().map(|one| one.path).collect::<Vec<_>>()));
    }
    let was_absent = problems.len() == manifest.files.len()
        && problems.iter().all(|problem| problem.kind == TreeProblemKind::Missing);
    let notices = if was_absent { Vec::new() } else { problems.iter().map(put_right).collect() };
    Ok((tree, notices))
}

fn put_right(problem: &TreeProblem) -> String {
    let path = escape(&problem.path);
    let what = match problem.kind {
        TreeProblemKind::Extra => {
            return format!("`{path}` is no file of the skill and has been set aside");
        }
        TreeProblemKind::Modified => "was changed",
        TreeProblemKind::Missing => "was missing",
        TreeProblemKind::Mode => "had another mode",
    };
    format!("`{path}` {what} and has been made whole again from the store")
}

fn changed(manifest: &Manifest, paths: &[String]) -> Error {
    const SHOWN: usize = 5;
    let shown: Vec<String> =
        paths.iter().take(SHOWN).map(|path| format!("`{}`", escape(path))).collect();
    let more = paths.len().saturating_sub(SHOWN);
    let others = if more == 0 { String::new() } else { format!(" and {more} more") };
    let message = format!(
        "the snapshot of `{}` {} on this machine is not what was signed ({}{others}), and the \
         store has no intact copy of it",
        manifest.name,
        manifest.version,
        shown.join(", ")
    );
    Error::new(Kind::Verification, "verification_failed", message)
        .with_hint("`skillpkg verify --repair` fetches it again")
}

/// Derives the manifest from the files again and compares: a manifest cannot claim capabilities
/// that the files do not declare, nor hide any.
fn derived_again(store: &Store, manifest: &Manifest) -> Result<(), Error> {
    let files = store.open_tree(manifest)?;
    verify_derived(&files, manifest)
        .map(|_| ())
        .map_err(|faults| Error { kind: Kind::Verification, ..Error::from(faults) })
}

/// The first missing thing stands for all.
fn requirement_error(first: Diagnostic, all: Vec<Diagnostic>) -> Error {
    let mut error = Error::new(Kind::Requirement, first.code, first.message);
    error.hint = first.hint;
    error.faults = all;
    error
}
