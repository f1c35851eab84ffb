//! End to end, over the real binaries: one test binary, a file a subject.

#![expect(clippy::unwrap_used, reason = "a helper that cannot do its part ends the test")]

mod accounts;
mod adopt;
mod advisories;
mod agent_skills;
#[cfg(unix)]
mod agents;
mod apm;
mod bound;
mod bundle;
#[cfg(target_os = "linux")]
mod calls;
mod clawhub;
#[cfg(unix)]
mod clones;
mod completions;
#[cfg(unix)]
mod damaged;
mod documents;
#[cfg(target_os = "linux")]
mod eligible;
mod faces;
mod files;
mod findings;
#[cfg(unix)]
mod first_hour;
mod gone;
mod install;
mod interrupted;
mod keys;
#[cfg(target_os = "linux")]
mod listed;
mod locked;
mod outside;
mod pages;
mod policy;
mod prefixed;
mod projects;
mod publishing;
mod refused;
mod reported;
#[cfg(unix)]
mod runs_nothing;
mod services;
mod shared;
mod slips;
mod swapped;
mod takeover;
mod trust;
mod trusted;
mod updates;
mod ways_out;
