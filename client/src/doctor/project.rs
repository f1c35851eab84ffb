//! Damage in the store, and projects that are not what their files say.

use std::collections::BTreeSet;

use super::{Area, CORRECT, Complaint};
use crate::Settings;
use crate::agents::Reach;
use crate::install::{Attendant, Options, RESTORE_HINT, drift as differs, locked_skills, root_of};
use crate::project::ProjectDirectory;
use crate::state::State;
use crate::verification::{ProblemKind, Verifier};
use skillpkg_schema::diagnostic::escape;

/// Re-hashes what the project and the user have. What was edited in a copy is the user's own and no
/// damage.
pub(super) async fn store(settings: &Settings, complaints: &mut Vec<Complaint>) {
    const MEND: &str = "`skillpkg verify --repair` mends it";
    let offline = Settings { offline: true, ..settings.clone() };
    for reach in [Reach::Project, Reach::Global] {
        if locked_skills(settings, reach).is_ok_and(|locked| locked.is_empty()) {
            continue;
        }
        let report = match Verifier::new(&offline, root_of(settings, reach), false) {
            Ok(verifier) => verifier.project(&[]).await,
            Err(error) => Err(error),
        };
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                // That there is no store is told of the project.
                if error.code != "no_store" {
                    // What is wrong in a file of the project's is nothing that the store has.
                    let otherwise = if error.file.is_some() { CORRECT } else { MEND };
                    complaints.push(Complaint::of(Area::Store, &error, otherwise));
                }
                continue;
            }
        };
        let active = active(settings, reach);
        for problem in report.problems.iter().filter(|problem| problem.directory.is_none()) {
            // Whose signature it is, the registry tells when the skill is brought here.
            if problem.kind == ProblemKind::Signature && !active.contains(&problem.name) {
                continue;
            }
            let (name, kind) = (escape(&problem.name), problem.kind.as_str());
            let path = match problem.path.as_str() {
                "" => String::new(),
                path => format!(" `{}`", escape(path)),
            };
            let detail = problem.detail.as_deref();
            let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
            let advice = match problem.kind {
                _ if problem.code == Some("lock_altered") => RESTORE_HINT,
                ProblemKind::Policy => "`skillpkg audit` tells the rule and where it stands",
                ProblemKind::Signature => {
                    "ask the author which key is theirs; `skillpkg remove` lets the skill go"
                }
                // A skill that was never brought here has no snapshot either.
                ProblemKind::Missing if problem.path.is_empty() => "`skillpkg sync` brings it",
                _ => MEND,
            };
            let what = format!("{name}: {kind}{path}{detail}");
            complaints.push(Complaint::new(Area::Store, what, advice));
        }
    }
}

/// The names of the skills that were placed on this machine.
fn active(settings: &Settings, reach: Reach) -> BTreeSet<String> {
    let root = ProjectDirectory::open(&root_of(settings, reach));
    let state = root.and_then(|root| State::new(&settings.home).project(root.root()));
    let active = state.map(|state| state.active).unwrap_or_default();
    active.into_iter().map(|active| active.name.to_string()).collect()
}

/// How a project differs from what its files say.
pub(super) fn drift(
    settings: &Settings,
    reach: Reach,
    attendant: &mut dyn Attendant,
    complaints: &mut Vec<Complaint>,
) {
    let root = root_of(settings, reach);
    let has_files = ["skillpkg.toml", "skillpkg.lock"].iter().any(|name| root.join(name).exists());
    if !has_files {
        return;
    }
    let global = if reach == Reach::Global { " --global" } else { "" };
    let sync = format!("`skillpkg sync{global}` makes it what the lockfile says");
    match differs(settings, &Options::new(reach), attendant) {
        Ok(found) => {
            complaints.extend(found.into_iter().map(|one| {
                let edits = format!(
                    "it is kept as it is; `skillpkg sync{global} --discard-edits` puts back what was \
                     signed"
                );
                let otherwise = if one.is_edit { edits } else { sync.clone() };
                let advice = one.hint.unwrap_or(otherwise);
                let complaint = Complaint::new(Area::Project, one.what, advice);
                Complaint { note: one.is_edit, ..complaint }
            }));
        }
        Err(error) if error.code == "no_store" => {
            let what = "nothing of it was ever brought to this machine";
            complaints.push(Complaint::new(Area::Project, what, sync));
        }
        Err(error) => {
            let otherwise = if error.file.is_some() { CORRECT } else { &sync };
            complaints.push(Complaint::of(Area::Project, &error, otherwise));
        }
    }
}
