//! What a skill needs, found on this machine or missing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::skill::Requirements;
use skillpkg_schema::{Diagnostic, Manifest};

use super::missing::{listed, needed_by};
use super::{HostCondition, LeftToHost, Missing, MissingKind, interpreters};
use crate::activation::program::{self, ProgramError};
use crate::activation::{FoundProgram, FoundRunner};
use crate::runner::{RunnerSet, Script, SelectError};
use crate::{Error, Kind, Settings};

/// What a skill needs, found on this machine or missing.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Its programs that are here.
    pub programs: Vec<FoundProgram>,
    /// The runners of its scripts.
    pub runners: Vec<FoundRunner>,
    /// What is not here.
    pub missing: Vec<Missing>,
    /// What is not here either, and keeps the skill from nothing, since it says `always`.
    pub waived: Vec<Missing>,
    /// What the host alone can judge.
    pub left_to_host: Vec<LeftToHost>,
    /// Whether its host is to offer it whatever of that is missing.
    pub always: bool,
    /// The variable for which a host may hold a secret in its own configuration.
    pub primary_env: Option<String>,
    /// What is worth telling of what was found.
    pub warnings: Vec<Diagnostic>,
}

/// Where a skill's needs are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Here<'h> {
    /// The directories of PATH, and the environment.
    pub settings: &'h Settings,
    /// The runners; [`None`] where scripts are not looked at.
    pub runners: Option<&'h RunnerSet>,
    /// Where programs of tools were found when the skill was activated: calls start those.
    pub recorded: Option<&'h BTreeMap<String, PathBuf>>,
}

/// Looks for everything that a skill needs: what its frontmatter names, the programs that its tools
/// start, what runs its executable files, and exactly one runner for each script.
///
/// `tree` is the snapshot's tree, which whoever calls has re-hashed. Nothing is executed, and of a
/// variable only whether it is set is looked at. A contract that does not compile is an error.
pub fn needs(manifest: &Manifest, tree: &Path, here: Here<'_>) -> Result<Needs, Error> {
    let settings = here.settings;
    let declared = Requirements::read(&manifest.metadata);
    let mut needs = Needs {
        always: declared.always,
        primary_env: declared.primary_env.clone(),
        ..Needs::default()
    };
    needs.declared(manifest, &declared, settings);
    needs.find_programs(manifest, tree, here);
    needs.missing.extend(interpreters::missing(manifest, tree, settings));
    if let Some(runners) = here.runners {
        needs.find_runners(manifest, tree, runners)?;
    }
    Ok(needs)
}

impl Needs {
    /// What keeps the skill from being activated.
    pub fn refusing(&self) -> impl Iterator<Item = &Missing> {
        self.missing.iter().filter(|missing| missing.refuses())
    }

    /// What is worth telling whoever activates the skill all the same.
    pub fn advice(&self) -> Vec<Diagnostic> {
        let unheeded = self.missing.iter().filter(|missing| !missing.refuses());
        let told = unheeded.chain(&self.waived).map(|missing| missing.told.clone());
        self.warnings.iter().cloned().chain(told).collect()
    }

    fn declared(&mut self, manifest: &Manifest, declared: &Requirements, settings: &Settings) {
        let requires = &manifest.requires;
        let by = needed_by(manifest, &[]);
        let mut unmet = Vec::new();
        for name in &requires.all {
            if program::on_path(name, &settings.path).is_none() {
                let error = ProgramError::NotOnPath(name.clone());
                let told = Diagnostic::error(error.code(), format!("{error}{by}"));
                unmet.push(one(MissingKind::Program, name, told.with_hint(error.hint())));
            }
        }
        let any = &requires.any;
        let is_here = |name: &String| program::on_path(name, &settings.path).is_some();
        if !any.is_empty() && !any.iter().any(is_here) {
            let message =
                format!("this needs one of {}, and none is on your PATH{by}", listed(any));
            let told =
                Diagnostic::error("program_missing", message).with_hint("install one of them");
            let (kind, names) = (MissingKind::AnyProgram, any.clone());
            unmet.push(Missing { kind, names, needed_by: Vec::new(), told });
        }
        for name in &requires.env {
            if settings.variable(name).is_none_or(str::is_empty) {
                let message = format!("this needs the environment variable `{}`{by}", escape(name));
                let told = Diagnostic::error("requirement_missing", message)
                    .with_hint("set it, then run this again");
                unmet.push(one(MissingKind::Environment, name, told));
            }
        }
        if declared.always {
            let waive = |mut missing: Missing| {
                missing.told.severity = skillpkg_schema::Severity::Warning;
                missing
            };
            self.waived = unmet.into_iter().map(waive).collect();
        } else {
            self.missing = unmet;
        }
        self.missing.extend(other_system(manifest));
        for unreadable in &declared.unreadable {
            let message = format!("{unreadable}{by}");
            let told = Diagnostic::warning("requirement_unreadable", message)
                .with_hint("its author has to mend it; `skillpkg check` tells them");
            self.missing.push(one(MissingKind::Unreadable, &unreadable.at, told));
        }
        let left = |kind| move |name: &String| LeftToHost { kind, name: name.clone() };
        self.left_to_host.extend(declared.config.iter().map(left(HostCondition::Config)));
        self.left_to_host.extend(declared.unknown.iter().map(left(HostCondition::Unknown)));
    }

    fn find_programs(&mut self, manifest: &Manifest, tree: &Path, here: Here<'_>) {
        for needed in &manifest.programs {
            let name = needed.name.clone();
            if needed.dynamic {
                self.programs.push(FoundProgram { name, path: None });
                continue;
            }
            let recorded = here.recorded.and_then(|all| program::executable(all.get(&name)?));
            let found = recorded
                .map_or_else(|| program::find(&name, manifest, tree, &here.settings.path), Ok);
            match found {
                Ok(path) => {
                    if name.starts_with('/') || Path::new(&name).is_absolute() {
                        self.warnings.push(does_not_travel(&name));
                    }
                    self.programs.push(FoundProgram { name, path: Some(path) });
                }
                Err(error) => {
                    let message = format!("{error}{}", needed_by(manifest, &needed.tools));
                    let told = Diagnostic::error(error.code(), message).with_hint(error.hint());
                    self.missing.push(Missing {
                        kind: MissingKind::Program,
                        names: vec![name],
                        needed_by: needed.tools.clone(),
                        told,
                    });
                }
            }
        }
    }

    fn find_runners(
        &mut self,
        manifest: &Manifest,
        tree: &Path,
        runners: &RunnerSet,
    ) -> Result<(), Error> {
        for entry in &manifest.scripts {
            let address = manifest.file(entry.path.as_str()).map(|file| file.sha256.address());
            let script =
                Script::of_manifest(entry, tree.to_path_buf(), address).map_err(|refused| {
                    let message = format!("the contract of `{}`: {refused}", escape(&entry.name));
                    Error::new(Kind::Verification, "contract_refused", message)
                })?;
            match runners.select(&script) {
                Ok(runner) => self
                    .runners
                    .push(FoundRunner { script: script.name.clone(), runner: runner.name() }),
                Err(error) => self.missing.push(Missing {
                    kind: MissingKind::Runner,
                    names: vec![entry.runtime.clone()],
                    needed_by: vec![entry.name.clone()],
                    told: no_runner(&error),
                }),
            }
        }
        Ok(())
    }
}

fn one(kind: MissingKind, name: &str, told: Diagnostic) -> Missing {
    Missing { kind, names: vec![name.to_owned()], needed_by: Vec::new(), told }
}

fn other_system(manifest: &Manifest) -> Option<Missing> {
    let systems = &manifest.requires.os;
    if systems.is_empty() || systems.iter().any(|name| is_this_system(name)) {
        return None;
    }
    let message = format!(
        "`{}` is for {} alone, and this machine runs {}",
        manifest.name,
        listed(systems),
        std::env::consts::OS
    );
    let told = Diagnostic::error("requirement_missing", message);
    let (kind, names) = (MissingKind::System, systems.clone());
    Some(Missing { kind, names, needed_by: Vec::new(), told })
}

/// Whether `name` is this operating system; Node's names for macOS and Windows are read too.
fn is_this_system(name: &str) -> bool {
    let name = match name {
        "darwin" => "macos",
        "win32" => "windows",
        other => other,
    };
    name == std::env::consts::OS
}

fn does_not_travel(name: &str) -> Diagnostic {
    let message =
        format!("`{}` is an absolute path, which means something else elsewhere", escape(name));
    Diagnostic::warning("program_absolute", message)
}

fn no_runner(error: &SelectError) -> Diagnostic {
    let hint = match error {
        SelectError::Unavailable { runtime, .. } => format!(
            "install its program, or set `[runners.{}]` in the user configuration",
            escape(runtime)
        ),
        SelectError::Ambiguous { .. } => "keep one of them in the configuration".to_owned(),
    };
    Diagnostic::error("runner_unavailable", error.to_string()).with_hint(hint)
}
