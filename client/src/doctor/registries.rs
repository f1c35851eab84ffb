//! Registries that do not answer, logs that prove nothing, and a clock that is wrong.

use std::collections::BTreeMap;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use super::{Area, Complaint};
use crate::agents::Reach;
use crate::install::locked_skills;
use crate::registry::Registry;
use crate::settings::{RegistryChoice, registry_text};
use crate::trust::{Notice, document, logs, now};
use crate::{Settings, keys};

/// What is asked for where nothing is installed; whether there is such a skill does not matter.
const ANY_NAME: &str = "any-skill";
/// How far the clocks of honest machines are apart, in seconds.
const CLOCKS_APART: u64 = 5 * 60;

pub(super) async fn examine(settings: &Settings, complaints: &mut Vec<Complaint>) {
    let mut asked: BTreeMap<String, (RegistryChoice, Option<QualifiedName>)> = BTreeMap::new();
    if let Some(choice) = &settings.registry {
        asked.insert(registry_text(&choice.url).to_owned(), (choice.clone(), None));
    }
    for reach in [Reach::Project, Reach::Global] {
        // What is wrong with the files is told by whoever looks at the project.
        for locked in locked_skills(settings, reach).unwrap_or_default() {
            let Some(url) = locked.source.registry() else { continue };
            let choice = settings.registry_for(&locked.name);
            let choice = choice.unwrap_or_else(|_| settings.registry_at(url));
            let key = registry_text(&choice.url).to_owned();
            asked.entry(key).or_insert((choice, None)).1.get_or_insert(locked.name);
        }
    }
    if !settings.offline {
        for (choice, name) in asked.values() {
            ask(settings, choice, name.as_ref(), complaints).await;
        }
    }
    clock(settings, complaints);
}

async fn ask(
    settings: &Settings,
    choice: &RegistryChoice,
    name: Option<&QualifiedName>,
    complaints: &mut Vec<Complaint>,
) {
    const ASK: &str = "ask its operator; `--registry URL` uses another";
    let url = registry_text(&choice.url);
    let answer = match Registry::chosen(settings, choice) {
        Ok(registry) => registry.information().await.map(|_| registry),
        Err(error) => Err(error),
    };
    let registry = match answer {
        Ok(registry) => registry,
        Err(mut error) => {
            error.message = format!("{url}: {}", error.message);
            complaints.push(Complaint::of(Area::Registry, &error, ASK));
            return;
        }
    };
    if registry.has_token() {
        match registry.who_am_i().await {
            Ok(_) => signing_key(settings, &registry, url, complaints).await,
            Err(mut error) => {
                error.message = format!("the token for {url}: {}", error.message);
                let advice = "`skillpkg login` keeps another";
                complaints.push(Complaint::of(Area::Registry, &error, advice));
            }
        }
    }
    // A document is proven by the log on the way, and so is that a name has none: where nothing is
    // installed yet, that tells whether the log would be believed.
    let Some(name) = name.cloned().or_else(|| ANY_NAME.parse().ok()) else { return };
    match document(settings, &registry, &name).await {
        // Not least that a log was pinned, with its fingerprint.
        Ok((_, notices)) => complaints.extend(notices.into_iter().map(|notice| {
            let (Notice::Tell(what) | Notice::Warn(what)) = notice;
            let advice = "`skillpkg log` tells what is known of logs";
            Complaint { note: true, ..Complaint::new(Area::Log, what, advice) }
        })),
        Err(mut error) => {
            error.message = format!("the log of {url}: {}", error.message);
            let advice = "`skillpkg log` tells what is known of it; ask the registry's operator";
            let area = if error.code == "checkpoint_future" { Area::Clock } else { Area::Log };
            complaints.push(Complaint::of(area, &error, advice));
        }
    }
}

/// Tells that the key which this machine signs with was revoked.
async fn signing_key(
    settings: &Settings,
    registry: &Registry,
    url: &str,
    complaints: &mut Vec<Complaint>,
) {
    let path = keys::signing_path(settings);
    let Ok(own) = keys::public_key(&path) else { return };
    // A token need not allow to read keys; whoever publishes is told then.
    let Ok(registered) = registry.keys().await else { return };
    let revoked = registered.keys.iter().find(|key| key.id == own.id() && key.revoked.is_some());
    if let Some(when) = revoked.and_then(|key| key.revoked.as_deref()) {
        let (key, when) = (own.id(), escape(when));
        complaints.push(Complaint::new(
            Area::Credentials,
            format!(
                "the key {key} in `{}`, with which this machine signs, was revoked at {url} ({when}): \
                 nothing it signs is taken",
                escape(&path.to_string_lossy())
            ),
            keys::SIGN_WITH_ANOTHER,
        ));
    }
}

fn clock(settings: &Settings, complaints: &mut Vec<Complaint>) {
    let known = match logs(settings) {
        Ok(known) => known,
        Err(error) => {
            let advice = "`skillpkg log forget` sets what is known aside, and the next command pins \
                          the log anew";
            complaints.push(Complaint::of(Area::Log, &error, advice));
            return;
        }
    };
    let here = now();
    let ahead = known.iter().filter_map(|log| log.time).max().unwrap_or_default();
    if ahead > here.saturating_add(CLOCKS_APART) {
        let minutes = ahead.saturating_sub(here) / 60;
        complaints.push(Complaint::new(
            Area::Clock,
            format!("this machine's clock is {minutes} minutes behind what a log signed"),
            "set the clock: ages of releases and checkpoints are counted by it",
        ));
    }
}
