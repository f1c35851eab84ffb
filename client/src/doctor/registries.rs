//! Registries that do not answer, logs that prove nothing, and a clock that is wrong.

use std::collections::BTreeMap;

use skillpkg_schema::QualifiedName;

use super::{Area, Complaint};
use crate::Settings;
use crate::agents::Reach;
use crate::install::locked_skills;
use crate::registry::Registry;
use crate::settings::{RegistryChoice, registry_text};
use crate::trust::{document, logs, now};

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
    if registry.has_token()
        && let Err(mut error) = registry.who_am_i().await
    {
        error.message = format!("the token for {url}: {}", error.message);
        complaints.push(Complaint::of(Area::Registry, &error, "`skillpkg login` keeps another"));
    }
    // A document is proven by the log on the way.
    if let Some(name) = name
        && let Err(mut error) = document(settings, &registry, name).await
    {
        error.message = format!("the log of {url}: {}", error.message);
        let advice = "`skillpkg log` tells what is known of it; ask the registry's operator";
        complaints.push(Complaint::of(Area::Log, &error, advice));
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
