//! A mirror over real sockets: what it hands on, what it refuses, and what never leaves it.

mod absent;
mod killed;
mod lies;
mod loops;
mod outage;
mod own;
mod pages;
mod pull;
mod real;
mod room;
pub(crate) mod upstream;

use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use skillpkg_registry::grant::Pattern;
use skillpkg_registry::mirror::{Mirror, Settings};
use skillpkg_registry::state::Options;
use skillpkg_registry::upstream::hosts::HostName;
use skillpkg_registry::upstream::{Patience, Upstream};
use skillpkg_schema::wire::{Document, IndexAnswer};

use crate::support::{TestRegistry, json};

pub(crate) fn settings(url: &str) -> Settings {
    let patience = Patience {
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(5),
        ..Patience::default()
    };
    let allowed = ["127.0.0.1".parse::<HostName>().unwrap()].into_iter().collect();
    Settings {
        upstream: Upstream::new(url.parse().unwrap(), allowed, patience).unwrap(),
        only: Vec::new(),
        every: Duration::from_mins(15),
        max_bytes: 1 << 30,
        log_key: None,
    }
}

pub(crate) fn only(url: &str, patterns: &[&str]) -> Settings {
    let only = patterns.iter().map(|text| text.parse::<Pattern>().unwrap()).collect();
    Settings { only, ..settings(url) }
}

/// A mirror in a directory of its own.
pub(crate) async fn mirror(settings: Settings) -> TestRegistry {
    let directory = tempfile::tempdir().unwrap();
    let mut started =
        TestRegistry::mirroring_in(directory.path(), Options::default(), settings).await;
    started.keep(directory);
    started
}

pub(crate) async fn mirror_in(directory: &Path, settings: Settings) -> TestRegistry {
    TestRegistry::mirroring_in(directory, Options::default(), settings).await
}

impl TestRegistry {
    fn mirror(&self) -> &Mirror {
        self.registry.mirror.as_ref().unwrap()
    }

    /// The document of a name, as it is answered.
    async fn document(&self, name: &str) -> Document {
        json(self.get(&skill(name), None).await, StatusCode::OK).await
    }

    async fn index(&self, body: serde_json::Value) -> IndexAnswer {
        let answer = self.send(reqwest::Method::POST, "/v1/index", None, &body).await;
        json(answer, StatusCode::OK).await
    }

    async fn alarms(&self) -> Vec<String> {
        let alarms = self.mirror().alarms().await.unwrap();
        alarms.into_iter().map(|alarm| alarm.subject).collect()
    }
}

fn skill(name: &str) -> String {
    match name.split_once('/') {
        Some((scope, name)) => format!("/v1/skills/{scope}/{name}"),
        None => format!("/v1/skills/_/{name}"),
    }
}
