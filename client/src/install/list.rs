//! `list` and `sync --check`: what a project has, and how that differs from what it should have.

use std::path::Path;

use serde::Serialize;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::Findings;
use skillpkg_schema::signature::{Envelope, KeyId};
use skillpkg_schema::{ContentAddress, QualifiedName, SkillName, Version};
use skillpkg_store::content::Store;

use super::attend::Attendant;
use super::directories::Directories;
use super::folders::Folders;
use super::options::Options;
use super::placement::{Placing, Target, edits};
use super::prepare::stored;
use super::proven::{Logs, RESTORE_HINT, is_altered, is_other};
use super::recover;
use super::session::{Session, base_of, open_directory, root_of};
use super::sync::{differences, unwanted};
use crate::activation::found;
use crate::agents::Reach;
use crate::eligibility::Refusal;
use crate::host::check_locked;
use crate::policy::{Installed, Policy, refuse, violations_of};
use crate::project::{Locked, Source};
use crate::state::{Placed, Placement, ProjectState, Signers, State, Step};
use crate::trust::{Rules, Standing, Standings, Trust};
use crate::{Error, Kind, Settings, keys};

/// One installed skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The whole name.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// The snapshot.
    pub address: ContentAddress,
    /// Where it comes from.
    pub source: Source,
    /// Whether agents see it.
    pub active: bool,
    /// The agents that it is placed for, by id; sorted.
    pub agents: Vec<String>,
    /// Files of copies that their user edited, relative to the skill, escaped; sorted.
    pub modified: Vec<String>,
    /// What is not as it was placed and is nobody's to edit, escaped: a link that leads elsewhere,
    /// files of a tree in the store; sorted.
    pub damaged: Vec<String>,
    /// That the key which signed it was revoked, where this machine has learnt so.
    pub revoked: Option<Revoked>,
    /// What was worth an eye in its files when it was approved; [`None`] where nobody looked.
    pub findings: Option<Findings>,
    /// What its registry last said against it.
    pub standing: Standing,
    /// How what agents see is not what the lockfile names, a phrase that can be printed.
    pub differs: Option<String>,
    /// What to do about that, where `sync` does not mend it.
    pub restore: Option<&'static str>,
    /// Where nothing is and should be, escaped; `.` for a skill that was never brought here; sorted.
    pub missing: Vec<String>,
    /// The directory name that agents see, where that is not the skill's own.
    pub placed_as: Option<SkillName>,
    /// Whether it came as a file and no key that signed it is known here any more, so that nothing of
    /// it is called.
    pub distrusted: bool,
    /// Why agents see it and nothing of it is called all the same: as a call is answered.
    pub refusal: Option<Refusal>,
}

/// That the key which signed a skill was revoked. Texts are the registry's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Revoked {
    /// The key.
    pub key: KeyId,
    /// Whose it was.
    pub account: String,
    /// When, RFC 3339.
    pub when: String,
    /// Whether the registry lists the skill among what the key signed before, so that it stays good.
    pub signed_before: bool,
}

impl Revoked {
    fn of(signers: &Signers, locked: &Locked) -> Option<Self> {
        let Locked { name, source, address, key, .. } = locked;
        signers.revocation(source.registry(), name, key).map(|revoked| Self {
            key: revoked.key,
            account: revoked.account.clone(),
            when: revoked.when.clone(),
            signed_before: revoked.allows(address),
        })
    }
}

/// One way in which a project is not what its files say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The skill.
    pub name: Option<QualifiedName>,
    /// What is different, a phrase that can be printed.
    pub what: String,
    /// Whether it is a copy with its user's edits, which every command keeps.
    pub is_edit: bool,
    /// What to do where `sync` does not mend it; safe to print.
    pub hint: Option<String>,
}

/// Finishes a change that a kill cut short, unless another process is at work on the project; says
/// whether it did. Whoever is about to read a project's active set calls this first.
pub fn settle(
    settings: &Settings,
    reach: Reach,
    attendant: &mut dyn Attendant,
) -> Result<bool, Error> {
    if !root_of(settings, reach).is_dir() {
        return Ok(false);
    }
    let state = State::new(&settings.home);
    let directory = open_directory(settings, reach)?;
    if state.journal(directory.root())?.is_none() {
        return Ok(false);
    }
    let Some(_lock) = state.try_lock_project(directory.root())? else { return Ok(false) };
    let store = Store::open(&settings.home)?;
    let _lease = store.lease()?;
    let base = base_of(settings, reach, &directory);
    recover::finish(&state, &store, &directory, &base, attendant).map(|_| true)
}

/// The skills that a project has, sorted by name, each re-hashed where it is placed. Writes nothing,
/// save to finish a change that was cut short.
pub fn list(
    settings: &Settings,
    reach: Reach,
    attendant: &mut dyn Attendant,
) -> Result<Vec<Listed>, Error> {
    settle(settings, reach, attendant)?;
    if !root_of(settings, reach).is_dir() {
        return Ok(Vec::new());
    }
    let directory = open_directory(settings, reach)?;
    let files = directory.read()?;
    for warning in &files.warnings {
        attendant.warn(&warning.to_string());
    }
    let state = State::new(&settings.home);
    let (remembered, signers) = (state.project(directory.root())?, state.signers()?);
    let standings = Standings::read(&settings.home)?;
    // Where nothing was ever placed there may be no store yet, and none is made for a question.
    let store =
        if remembered.placed.is_empty() { None } else { Some(Store::open(&settings.home)?) };
    let policy = Policy::with_project(settings, files.project_text.as_deref());
    let mut listed = Vec::new();
    for locked in files.lock.skills() {
        let name = &locked.name;
        let mut one = Listed {
            name: name.clone(),
            version: locked.version.clone(),
            address: locked.address,
            source: locked.source.clone(),
            active: remembered.active(name).is_some_and(|one| one.address == locked.address),
            agents: Vec::new(),
            modified: Vec::new(),
            damaged: Vec::new(),
            revoked: Revoked::of(&signers, locked),
            findings: state.findings(&locked.address)?,
            standing: match locked.source.registry() {
                Some(url) => standings.of(url, name, &locked.version),
                None => Standing::default(),
            },
            differs: differs(&remembered, locked),
            restore: remembered
                .active(name)
                .is_some_and(|active| is_altered(active, locked))
                .then_some(RESTORE_HINT),
            missing: Vec::new(),
            placed_as: files.project.skill(name).and_then(|wanted| wanted.placed_as.clone()),
            distrusted: is_distrusted(settings, &remembered, &signers, store.as_ref(), locked)?,
            refusal: None,
        };
        if let Some((store, active)) = store.as_ref().zip(remembered.active(name)) {
            let judge = || {
                let locked = check_locked(active, &files.lock)?;
                refuse_listed(settings, store, &state, policy.as_ref(), locked, &one)
            };
            one.refusal = judge().err().map(Refusal::from);
        }
        if let Some(store) = &store {
            for placed in remembered.placed_of(name) {
                look(store, placed, &mut one)?;
            }
        }
        if remembered.active(name).is_none() && !remembered.inactive.contains(name) {
            one.missing.push(".".to_owned());
        }
        for list in [&mut one.agents, &mut one.modified, &mut one.damaged, &mut one.missing] {
            list.sort_unstable();
            list.dedup();
        }
        listed.push(one);
    }
    Ok(listed)
}

/// Refuses what a call of a skill that agents see would be refused for, but for what it needs.
fn refuse_listed(
    settings: &Settings,
    store: &Store,
    state: &State,
    policy: Result<&Policy, &Error>,
    locked: &Locked,
    listed: &Listed,
) -> Result<(), Error> {
    let Listed { name, version, .. } = listed;
    let Some(stored) = stored(store, &locked.address)? else {
        let message = format!("the snapshot of `{name}` {version} is not in the store");
        return Err(Error::new(Kind::Verification, "verification_failed", message)
            .with_hint("`skillpkg sync` fetches it again"));
    };
    if listed.distrusted {
        return Err(distrusted(name, version));
    }
    let installed = Installed {
        manifest: &stored.manifest,
        address: &locked.address,
        envelope: &stored.envelope,
        source: &locked.source,
    };
    let policy = policy.map_err(Clone::clone)?;
    refuse(&violations_of(policy, settings, store, state, &installed)?)?;
    listed.standing.check(name, version)
}

/// That nobody who is known here vouches for a skill any more.
pub(super) fn distrusted(name: &QualifiedName, version: &Version) -> Error {
    let message = format!("nobody who is known here vouches for `{name}@{version}`");
    Error::new(Kind::Verification, "signer_unknown", message).with_hint(format!(
        "`skillpkg keys trust FILE.pem` trusts its signer; `skillpkg remove {name}` takes it away"
    ))
}

/// Whether a skill that came as a file is seen by agents, and no key that signed it is known here any
/// more, as after `keys distrust`: its calls are refused. A registry gives the keys of what is in it.
fn is_distrusted(
    settings: &Settings,
    remembered: &ProjectState,
    signers: &Signers,
    store: Option<&Store>,
    locked: &Locked,
) -> Result<bool, Error> {
    let active = remembered.active(&locked.name).filter(|active| active.key.is_some());
    if active.is_none() || locked.source.registry().is_some() {
        return Ok(false);
    }
    let envelope = match store {
        Some(store) => stored(store, &locked.address)?.map(|stored| stored.envelope),
        None => None,
    };
    let trusted = keys::vouching_for_files(settings, signers, &locked.name);
    let is_known =
        |id: &KeyId| signers.key(id).is_some() || trusted.iter().any(|trusted| trusted.id() == *id);
    let signed = envelope.iter().flat_map(Envelope::key_ids);
    Ok(!signed.chain([locked.key]).any(|id| is_known(&id)))
}

/// How what agents see of a skill is not what the lockfile names.
fn differs(remembered: &ProjectState, locked: &Locked) -> Option<String> {
    let active = remembered.active(&locked.name)?;
    if active.address != locked.address {
        let (version, address) = (&active.version, active.address);
        return Some(format!("{version} ({address}) is active, and the lockfile names another"));
    }
    (is_other(remembered, locked) == Some(true)).then(|| {
        "the lockfile says another version, source, key, archive or leaf of the log than was verified"
            .to_owned()
    })
}

/// What is worth an eye in the files of a snapshot that is on this machine: what was found when it
/// was approved, else what is found now; [`None`] where it is not here.
pub fn found_in(settings: &Settings, address: &ContentAddress) -> Result<Option<Findings>, Error> {
    let state = State::new(&settings.home);
    // Where nothing was ever approved there may be no store yet, and none is made for a question.
    if !state.is_approved(address)? {
        return Ok(None);
    }
    found::known(&Store::open(&settings.home)?, &state, address)
}

/// Compares what was placed with what is there.
fn look(store: &Store, placed: &Placed, listed: &mut Listed) -> Result<(), Error> {
    let shown = |path: &Path| escape(&path.to_string_lossy());
    let Ok(metadata) = placed.path.symlink_metadata() else {
        listed.missing.push(shown(&placed.path));
        return Ok(());
    };
    listed.agents.extend(placed.agents.iter().cloned());
    let tree = store.tree_path(&placed.address);
    match placed.placement {
        Placement::Copy if metadata.is_dir() => {
            listed.modified.extend(edits(store, &placed.address, &placed.path)?);
        }
        Placement::Link if placed.path.read_link().is_ok_and(|target| target == tree) => {
            if tree.symlink_metadata().is_err() {
                listed.missing.push(shown(&tree));
            } else {
                listed.damaged.extend(edits(store, &placed.address, &tree)?);
            }
        }
        Placement::Copy | Placement::Link => listed.damaged.push(shown(&placed.path)),
    }
    Ok(())
}

/// What a step would change, a phrase that can be printed.
fn told_step(step: &Step) -> String {
    let path = escape(&step.path.to_string_lossy());
    match (&step.before, &step.after) {
        (None, _) => format!("`{path}` is missing"),
        (_, None) => format!("`{path}` is there, and should not be"),
        (Some(before), _) if before.found.is_some() => {
            format!("`{path}` leads into another store")
        }
        _ => format!("`{path}` is another version"),
    }
}

/// How a project is not what its lockfile says; empty where it is. Changes nothing.
pub fn drift(
    settings: &Settings,
    options: &Options,
    attendant: &mut dyn Attendant,
) -> Result<Vec<Drift>, Error> {
    // Where nothing can be written, nothing has to be.
    let settings = &Settings { looks_only: settings.is_read_only(), ..settings.clone() };
    let session = Session::open_to_look(settings, options, attendant)?;
    session.require_project_file()?;
    let (mut drift, mut edits, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |name: Option<&QualifiedName>, what: String| {
        drift.push(Drift { name: name.cloned(), what, is_edit: false, hint: None });
    };
    if session.state.journal(session.root())?.is_some() {
        add(None, "a change was cut short".to_owned());
    }
    for difference in differences(&session)? {
        add(None, difference);
    }
    let names = session.files.project.skills.iter().map(|wanted| &wanted.name);
    let directories = Directories::choose(&session, names)?;
    let policy = Policy::of_project(settings, session.root())?;
    let trust = Trust::looking(settings, Rules::of(&policy));
    let logs = Logs::new(&trust);
    let base = session.base();
    let mut folders = Folders::new(&base, &session.store);
    let leaving = unwanted(&session);
    let signers = session.state.signers()?;
    let mut placing =
        Placing { leaving: &leaving, discard_edits: false, ..Placing::of(&session, &mut folders) };
    for wanted in &session.files.project.skills {
        let name = &wanted.name;
        let Some(locked) = session.files.lock.skill(name) else { continue };
        if let Some(active) = session.remembered.active(name)
            && is_altered(active, locked)
        {
            let (version, seen, said) = (&active.version, active.address, locked.address);
            let what =
                format!("`{name}@{version}` is {seen}, and the lockfile says that it is {said}");
            let hint = Some(RESTORE_HINT.to_owned());
            refused.push(Drift { name: Some(name.clone()), what, is_edit: false, hint });
            continue;
        }
        let (signers, store) = (&signers, Some(&session.store));
        if is_distrusted(settings, &session.remembered, signers, store, locked)? {
            let Error { message: what, hint, .. } = distrusted(name, &locked.version);
            refused.push(Drift { name: Some(name.clone()), what, is_edit: false, hint });
            continue;
        }
        logs.check(&session.remembered, locked)?;
        if session.remembered.inactive.contains(name) {
            continue;
        }
        let target = Target {
            name,
            directory_name: wanted.directory_name(),
            address: locked.address,
            directories: &directories.of(name)?,
            placement: directories.placement(),
            change_placement: session.options.copy,
        };
        match placing.place(&target) {
            Ok(plan) => {
                // What stands there was placed from where the project was before, or by hand.
                if plan.steps.is_empty() && session.remembered.active(name).is_none() {
                    let what = format!("`{name}@{}` is missing: it is not active", locked.version);
                    add(Some(name), what);
                }
                for step in &plan.steps {
                    add(Some(name), told_step(step));
                }
                // What is edited is not known while what was signed is not here.
                let is_here = stored(&session.store, &locked.address)?.is_some();
                for (path, files) in plan.kept.iter().filter(|_| is_here) {
                    let path = escape(&path.to_string_lossy());
                    let what = format!("`{path}` was edited: {}", files.join(", "));
                    edits.push(Drift { name: Some(name.clone()), what, is_edit: true, hint: None });
                }
            }
            Err(Error { message, hint, .. }) => {
                refused.push(Drift {
                    name: Some(name.clone()),
                    what: message,
                    is_edit: false,
                    hint,
                });
            }
        }
        match stored(&session.store, &locked.address)? {
            None => add(Some(name), format!("`{name}@{}` is not in the store", locked.version)),
            Some(stored) => {
                for problem in session.store.verify_tree(&stored.manifest)? {
                    let path = escape(&problem.path);
                    add(Some(name), format!("`{path}` of `{name}` in the store was changed"));
                }
            }
        }
    }
    for name in &leaving {
        if session.remembered.placed_of(name).next().is_some() {
            add(Some(name), format!("`{name}` is placed, and not asked for"));
        }
    }
    drift.extend(refused);
    drift.extend(edits);
    Ok(drift)
}
