//! Holds a skill against one policy's file.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::{escape, escape_whole};
use skillpkg_schema::finding::{Finding, Severity};
use skillpkg_schema::signature::KeyId;
use url::Url;

use super::duration::Age;
use super::file::{FILES, NewExecutables, Origin, PolicyFile};
use super::parse::whoms;
use super::place::Placed;
use super::programs::{is_open, name_of, parts, started};
use super::rule::Rule;
use super::skill::{Before, From, Skill};
use super::violation::Violation;
use crate::activation::{host_settings, prose_growth, run_line, widening};
use crate::settings::registry_text;

/// Most additions of an update that are told.
const MOST_TOLD: usize = 5;

/// The programs that runners start, by runtime.
pub(crate) type Runners = BTreeMap<String, Vec<String>>;

impl PolicyFile {
    /// What is forbidden of a name and where it comes from, before anything of it is asked for.
    pub(super) fn origin(&self, name: &QualifiedName, from: From<'_>, told: &mut Vec<Violation>) {
        if let Some(registries) = &self.registries {
            let comes_from = match from {
                From::Registry(url) => format!("`{}`", registry_text(url)),
                From::File => "a file".to_owned(),
            };
            if !registries.value.iter().any(|allowed| allows(allowed, from)) {
                let message = format!(
                    "`{name}` comes from {comes_from}; `registries` allows {}",
                    listed(registries.value.iter().map(Origin::shown))
                );
                let violation = Violation::new(Rule::Registries, &registries.place, message);
                told.push(match from {
                    From::Registry(_) => violation,
                    From::File => violation.with_hint(format!(
                        "`registries` lets archives in files in where it names `{FILES}`"
                    )),
                });
            }
        }
        if let Some(scopes) = &self.scopes
            && !scopes.value.iter().any(|scope| scope == name.wire_scope())
        {
            let is_of = name.scope().map_or_else(
                || "has no scope".to_owned(),
                |scope| format!("is of the scope `{scope}`"),
            );
            let allowed = listed(scopes.value.iter().map(String::as_str));
            let message = format!("`{name}` {is_of}; `scopes` allows {allowed}");
            told.push(Violation::new(Rule::Scopes, &scopes.place, message));
        }
    }

    /// That a registry is none that skills may come from.
    pub(super) fn registry(&self, url: &Url, told: &mut Vec<Violation>) {
        let Some(registries) = &self.registries else { return };
        if !registries.value.iter().any(|allowed| allows(allowed, From::Registry(url))) {
            let message = format!(
                "the registry `{}` is not asked; `registries` allows {}",
                registry_text(url),
                listed(registries.value.iter().map(Origin::shown))
            );
            told.push(Violation::new(Rule::Registries, &registries.place, message));
        }
    }

    /// Everything that is forbidden of a skill.
    pub(super) fn violations(
        &self,
        skill: &Skill<'_>,
        runners: &Runners,
        now: Timestamp,
        told: &mut Vec<Violation>,
    ) {
        self.origin(skill.name(), skill.from, told);
        self.signers(skill, told);
        if let (Some(least), From::Registry(_)) = (&self.minimum_release_age, skill.from) {
            told.extend(release_age(least, skill, now));
        }
        self.programs(skill, runners, told);
        self.runners(skill, runners, told);
        self.run_lines(skill, told);
        self.additions(skill, told);
        self.found(&skill.shown(), skill.findings, told);
    }

    fn signers(&self, skill: &Skill<'_>, told: &mut Vec<Violation>) {
        let found = whoms(skill.name())
            .into_iter()
            .find_map(|whom| self.signers.get(&whom).map(|keys| (whom, keys)));
        let Some((whom, wanted)) = found else { return };
        if skill.keys.iter().any(|key| wanted.value.contains(key)) {
            return;
        }
        let ids = |keys: &[KeyId]| {
            let ids: Vec<String> = keys.iter().map(KeyId::short).collect();
            listed(ids.iter().map(String::as_str))
        };
        let signed_with = match skill.keys {
            [] => "no key that is known here".to_owned(),
            keys => ids(keys),
        };
        let message = format!(
            "{} is signed with {signed_with}; `signers` allows {} for `{}`",
            skill.shown(),
            ids(&wanted.value),
            escape(&whom)
        );
        told.push(Violation::new(Rule::Signers, &wanted.place, message));
    }

    fn programs(&self, skill: &Skill<'_>, runners: &Runners, told: &mut Vec<Violation>) {
        let manifest = skill.manifest;
        for forbidden in &self.forbid_programs {
            let wanted = name_of(&forbidden.value);
            let mut met = Vec::new();
            for tool in &manifest.tools {
                if started(tool.run.iter().map(String::as_str)).contains(&wanted) {
                    met.push(format!("tool `{}` runs it", escape(&tool.id)));
                }
            }
            for script in &manifest.scripts {
                let command = runners.get(&script.runtime);
                let words = command.into_iter().flatten().map(String::as_str);
                if started(words).contains(&wanted) {
                    met.push(format!("script `{}` runs with it", escape(&script.name)));
                }
            }
            let requires = manifest.requires.all.iter().chain(&manifest.requires.any);
            if requires.into_iter().any(|name| name_of(name) == wanted) {
                met.push("it is required".to_owned());
            }
            for command in skill.prose_commands {
                if parts(command).any(|part| name_of(part) == wanted) {
                    met.push(format!("the prose has its host run `{}`", escape(command)));
                }
            }
            if !met.is_empty() {
                let message = format!(
                    "{} has the program `{}`, which `forbid-programs` names: {}",
                    skill.shown(),
                    escape(&forbidden.value),
                    met.join(", ")
                );
                told.push(Violation::new(Rule::ForbidPrograms, &forbidden.place, message));
            }
        }
    }

    fn runners(&self, skill: &Skill<'_>, runners: &Runners, told: &mut Vec<Violation>) {
        for forbidden in &self.forbid_runners {
            for script in &skill.manifest.scripts {
                let command = runners.get(&script.runtime).and_then(|command| command.first());
                if is_runner(&forbidden.value, &script.runtime, command.map(String::as_str)) {
                    let message = format!(
                        "{}: script `{}` is run as `{}`, and `forbid-runners` names `{}`",
                        skill.shown(),
                        escape(&script.name),
                        escape(&script.runtime),
                        escape(&forbidden.value)
                    );
                    told.push(Violation::new(Rule::ForbidRunners, &forbidden.place, message));
                }
            }
        }
    }

    fn run_lines(&self, skill: &Skill<'_>, told: &mut Vec<Violation>) {
        if self.forbid_run.is_empty() {
            return;
        }
        let mut lines: Vec<(String, String)> = Vec::new();
        for tool in &skill.manifest.tools {
            lines.push((format!("tool `{}` runs", escape(&tool.id)), run_line(&tool.run)));
        }
        for command in skill.prose_commands {
            lines.push(("the prose has its host run".to_owned(), escape_whole(command)));
        }
        for setting in host_settings(skill.manifest) {
            lines.push(("it tells its host".to_owned(), setting));
        }
        for pattern in &self.forbid_run {
            for (what, line) in lines.iter().filter(|(_, line)| pattern.value.is_match(line)) {
                let message = format!(
                    "{}: {what} `{}`, which matches `{}` of `forbid-run`",
                    skill.shown(),
                    escape(line),
                    escape(pattern.value.as_str())
                );
                told.push(Violation::new(Rule::ForbidRun, &pattern.place, message));
            }
        }
    }

    fn additions(&self, skill: &Skill<'_>, told: &mut Vec<Violation>) {
        let Some(Placed { value: NewExecutables::Refuse, place }) = &self.new_executables else {
            return;
        };
        let violation = |message: String| Violation::new(Rule::NewExecutables, place, message);
        match skill.before {
            Before::Nothing => {}
            Before::Lost => {
                let message = format!(
                    "{} takes the place of a version that the store has lost, and what it adds to \
                     that cannot be told; `new-executables` refuses it",
                    skill.shown()
                );
                told.push(violation(message).with_hint(format!(
                    "`skillpkg verify --repair` fetches the version before again; `skillpkg remove \
                     {}`, then an install, has none before it",
                    skill.name()
                )));
            }
            Before::Version(before, prose_commands) => {
                let mut added = widening(before, skill.manifest);
                added.extend(prose_growth(prose_commands, skill.prose_commands));
                if !added.is_empty() {
                    let more = added.len().saturating_sub(MOST_TOLD);
                    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                    // One that changes stands in two lines.
                    let shown: Vec<String> =
                        added.iter().take(MOST_TOLD).map(|one| one.replace("\n ", "")).collect();
                    told.push(violation(format!(
                        "{} adds to {}: {}{more}; `new-executables` refuses it",
                        skill.shown(),
                        before.version,
                        shown.join("; ")
                    )));
                }
            }
        }
    }

    /// What is forbidden of what was found in a skill; `shown` is its name and version.
    pub(super) fn found(&self, shown: &str, findings: &[Finding], told: &mut Vec<Violation>) {
        for finding in findings {
            let rule = self.findings.get(&finding.kind);
            if let Some(rule) = rule.filter(|rule| rule.value == Severity::Refuse) {
                let message = format!("{shown}: {finding}; `findings` refuses it");
                told.push(Violation::new(Rule::Findings, &rule.place, message));
            }
        }
    }
}

impl PolicyFile {
    /// What is forbidden of a call of a tool that takes which program it runs, and runs `argv` now.
    /// Of any other tool the run line was held against the policy already.
    pub(super) fn call(
        &self,
        skill: &str,
        run: &[String],
        argv: &[String],
        told: &mut Vec<Violation>,
    ) {
        if !is_open(run) {
            return;
        }
        let names = started(argv.iter().map(String::as_str));
        for forbidden in &self.forbid_programs {
            if names.contains(&name_of(&forbidden.value)) {
                let message = format!(
                    "{skill}: the call runs `{}`, which `forbid-programs` names",
                    escape(&forbidden.value)
                );
                told.push(Violation::new(Rule::ForbidPrograms, &forbidden.place, message));
            }
        }
        let line = run_line(argv);
        for pattern in self.forbid_run.iter().filter(|one| one.value.is_match(&line)) {
            let message = format!(
                "{skill}: the call runs `{}`, which matches `{}` of `forbid-run`",
                escape(&line),
                escape(pattern.value.as_str())
            );
            told.push(Violation::new(Rule::ForbidRun, &pattern.place, message));
        }
    }

    /// What is forbidden of a call of a script with a runner, as it calls itself.
    pub(super) fn script_call(&self, skill: &str, runner: &str, told: &mut Vec<Violation>) {
        let names: Vec<String> = parts(runner).map(name_of).collect();
        for (rule, forbidden) in [
            (Rule::ForbidRunners, &self.forbid_runners),
            (Rule::ForbidPrograms, &self.forbid_programs),
        ] {
            for forbidden in forbidden.iter().filter(|one| names.contains(&name_of(&one.value))) {
                let message = format!(
                    "{skill}: the call runs with {}, and `{rule}` names `{}`",
                    escape(runner),
                    escape(&forbidden.value)
                );
                told.push(Violation::new(rule, &forbidden.place, message));
            }
        }
    }
}

fn allows(allowed: &Origin, from: From<'_>) -> bool {
    match (allowed, from) {
        (Origin::Registry(allowed), From::Registry(url)) => {
            registry_text(allowed) == registry_text(url)
        }
        (Origin::File, From::File) => true,
        _ => false,
    }
}

/// Whether a rule's word means a runner: by its runtime, or by the program that it starts.
fn is_runner(word: &str, runtime: &str, program: Option<&str>) -> bool {
    word.eq_ignore_ascii_case(runtime)
        || program.is_some_and(|program| name_of(program) == name_of(word))
}

/// Whether a version that was published then is younger than it has to be.
pub(super) fn is_young(published: Option<Timestamp>, least: Age, now: Timestamp) -> bool {
    old_enough_at(published, least).is_none_or(|when| now < when)
}

/// When a version that was published then is old enough; [`None`] where nobody knows.
pub(super) fn old_enough_at(published: Option<Timestamp>, least: Age) -> Option<Timestamp> {
    let seconds = i64::try_from(least.seconds()).ok()?;
    published?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn release_age(least: &Placed<Age>, skill: &Skill<'_>, now: Timestamp) -> Option<Violation> {
    let age = least.value;
    if !is_young(skill.published, age, now) {
        return None;
    }
    let (shown, name) = (skill.shown(), skill.name());
    let violation =
        |message: String| Violation::new(Rule::MinimumReleaseAge, &least.place, message);
    Some(match skill.published.zip(old_enough_at(skill.published, age)) {
        Some((published, when)) => violation(format!(
            "{shown} was published at {published}; with `minimum-release-age` of `{age}` it is old \
             enough at {when}"
        ))
        .with_hint(format!(
            "wait until then, or take an earlier version that is old enough: `skillpkg show {name}` \
             tells when each was published"
        )),
        None => violation(format!(
            "when {shown} was published is not known here, and `minimum-release-age` is `{age}`"
        ))
        .with_hint("`skillpkg sync`, with the registry in reach, asks when it was"),
    })
}

fn listed<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let quoted: Vec<String> = texts.map(|text| format!("`{}`", escape(text))).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => format!("{one} alone"),
        several => several.join(", "),
    }
}
