//! Programs, runners and variables that active skills lack, and what no server of the Model Context
//! Protocol can serve of them.

use skillpkg_schema::diagnostic::{Severity, escape};
use skillpkg_store::content::StoreError;

use super::{Area, Complaint};
use crate::activation::missing;
use crate::agents::Reach;
use crate::host::{Host, HostOptions};
use crate::install::root_of;
use crate::mcp::left_out;
use crate::project::ProjectDirectory;
use crate::runner::RunnerSet;
use crate::state::State;
use crate::{Error, Settings};

pub(super) fn examine(settings: &Settings, reach: Reach, complaints: &mut Vec<Complaint>) {
    if let Err(error) = look(settings, reach, complaints) {
        let advice = "`skillpkg verify` tells more";
        complaints.push(Complaint::of(Area::Requirement, &error, advice));
    }
}

fn look(settings: &Settings, reach: Reach, complaints: &mut Vec<Complaint>) -> Result<(), Error> {
    let root = root_of(settings, reach);
    if !root.is_dir() {
        return Ok(());
    }
    let root = ProjectDirectory::open(&root)?.root().to_path_buf();
    let active = State::new(&settings.home).project(&root)?.active;
    if active.is_empty() {
        return Ok(());
    }
    let store = settings.store()?;
    // That it cannot be read is told of the configuration.
    let Ok(runners) = RunnerSet::configured(settings) else { return Ok(()) };
    for one in active {
        let manifest = match store.stored(&one.address) {
            Ok(Some(stored)) => stored.manifest,
            // Told of the store.
            Ok(None) | Err(StoreError::Damaged { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let tree = store.tree_path(&one.address);
        for lack in missing(&manifest, &tree, settings, &runners)? {
            let name = escape(&manifest.name.to_string());
            let advice = lack.hint.clone().unwrap_or_else(|| {
                format!("`skillpkg deactivate {name}` takes it out of the sight of agents")
            });
            let what = format!("{name}: {}", lack.message);
            // What a person may go on without keeps it from being eligible, and from nothing else.
            let note = lack.severity == Severity::Warning;
            complaints.push(Complaint { note, ..Complaint::new(Area::Requirement, what, advice) });
        }
    }
    let global = reach == Reach::Global;
    let options = HostOptions {
        global,
        check_runners: false,
        runners: Some(runners),
        ..HostOptions::new(settings.clone())
    };
    for what in left_out(&Host::open(options)?)? {
        let advice = "hosts that read directories see it all the same; `skillpkg inspect NAME` tells \
                      what it carries, and `skillpkg verify NAME` whether it is whole";
        complaints.push(Complaint::new(Area::Mcp, what, advice));
    }
    Ok(())
}
