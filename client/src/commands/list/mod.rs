//! `skillpkg list`.

mod eligible;

use std::collections::BTreeMap;

use serde::Serialize;
use skillpkg::Error;
use skillpkg::eligibility::{Refusal, Verdict};
use skillpkg::host::{Host, HostOptions};
use skillpkg::install::{Revoked, list};
use skillpkg::trust::Standing;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::Findings;
use skillpkg_schema::wire::Effect;
use skillpkg_schema::{ContentAddress, QualifiedName, SkillName, Version};

use crate::commands::attendant::Terminal;
use crate::commands::found::counted;
use crate::commands::{installed, reach};
use crate::context::Context;

/// Tell the installed skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg list --eligible --json")]
pub(crate) struct Arguments {
    /// Tell of each whether a host should offer it: active, verified, and nothing it needs missing
    #[arg(long)]
    eligible: bool,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
}

/// What to do about what is locked and not here.
pub(crate) const MISSING_HINT: &str = "hint: `skillpkg sync` brings what is missing";

/// What to do about what nobody vouches for any more.
const DISTRUSTED_HINT: &str = "hint: nothing of it is called: `skillpkg keys trust FILE.pem` trusts its \
                               signer, `skillpkg remove NAME` takes it away";

#[derive(Debug, Serialize)]
struct Skill<'a> {
    name: &'a QualifiedName,
    version: &'a Version,
    /// The directory name that agents see, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    placed_as: Option<&'a SkillName>,
    address: &'a ContentAddress,
    registry: String,
    /// As a verdict has it: agents see what the lockfile names, and nothing forbids it.
    active: bool,
    /// Why a call of what agents see is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a Refusal>,
    agents: &'a [String],
    modified: &'a [String],
    damaged: &'a [String],
    missing: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    differs: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<&'a Revoked>,
    /// Present where no key that signed it is trusted here any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    distrusted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<&'a Findings>,
    #[serde(flatten)]
    standing: &'a Standing,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
}

#[derive(Debug, Serialize)]
struct Shape<'a> {
    /// The names of those that a host should offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    eligible: Option<Vec<&'a QualifiedName>>,
    /// The operating system that requirements were held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'static str>,
    skills: Vec<Skill<'a>>,
}

/// Runs it; answers with the exit code.
#[expect(clippy::unused_async, reason = "every command is awaited")]
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let mut terminal = Terminal::approving(context.output);
    let listed = list(&context.settings, reach(arguments.global), &mut terminal)?;
    let mut verdicts = if arguments.eligible && !listed.is_empty() {
        let options = HostOptions {
            global: arguments.global,
            check_runners: false,
            ..HostOptions::new(context.settings.clone())
        };
        Host::open(options)?.verdicts()?.into_iter().collect()
    } else {
        BTreeMap::new()
    };
    let skills: Vec<Skill<'_>> = listed
        .iter()
        .map(|one| Skill {
            name: &one.name,
            version: &one.version,
            placed_as: one.placed_as.as_ref(),
            address: &one.address,
            registry: installed::source_text(&one.source),
            active: one.active && one.refusal.is_none(),
            refusal: one.refusal.as_ref(),
            agents: &one.agents,
            modified: &one.modified,
            damaged: &one.damaged,
            missing: &one.missing,
            differs: one.differs.as_deref(),
            revoked: one.revoked.as_ref(),
            distrusted: one.distrusted,
            findings: one.findings.as_ref().filter(|found| !found.is_empty()),
            standing: &one.standing,
            verdict: verdicts.remove(&one.name).map(|verdict| verdict.where_placed(one)),
        })
        .collect();
    if arguments.eligible {
        return eligible::tell(skills, context);
    }
    for skill in &skills {
        context.output.text(&line(skill))?;
    }
    if skills.iter().any(|skill| !skill.missing.is_empty()) {
        context.output.talk(MISSING_HINT);
    }
    if listed.iter().any(|one| one.differs.is_some() && one.restore.is_none()) {
        context.output.talk("hint: `skillpkg sync` makes the project what its lockfile says");
    }
    if let Some(restore) = listed.iter().find_map(|one| one.restore) {
        context.output.talk(&format!("hint: {restore}"));
    }
    if skills.iter().any(|skill| !skill.damaged.is_empty()) {
        context.output.talk("hint: `skillpkg verify` tells what is damaged, and how to mend it");
    }
    if skills.iter().any(|skill| skill.distrusted) {
        context.output.talk(DISTRUSTED_HINT);
    }
    if skills.is_empty() {
        context.output.talk("no skill is installed here");
    }
    context.output.json(&Shape { eligible: None, system: None, skills })?;
    Ok(0)
}

fn line(skill: &Skill<'_>) -> String {
    let placed_as = skill.placed_as.map_or_else(String::new, |name| format!(" as {name}"));
    let mut parts = vec![format!("{}@{}{placed_as}", skill.name, skill.version)];
    if !skill.agents.is_empty() {
        parts.push(skill.agents.join(", "));
    } else if !skill.active && skill.missing.is_empty() {
        parts.push("not active".to_owned());
    }
    if skill.missing == ["."] {
        parts.push("missing".to_owned());
    } else if !skill.missing.is_empty() {
        parts.push(format!("missing: {}", skill.missing.join(", ")));
    }
    if let Some(differs) = skill.differs {
        parts.push(differs.to_owned());
    }
    for (what, files) in [("damaged", skill.damaged), ("edited", skill.modified)] {
        if !files.is_empty() {
            parts.push(format!("{what}: {}", files.join(", ")));
        }
    }
    match skill.revoked {
        Some(Revoked { signed_before: true, .. }) => {
            parts.push("its key was revoked later".to_owned());
        }
        Some(_) => parts.push("its key was revoked: it is not to be trusted".to_owned()),
        None => {}
    }
    if let Some(refusal) = skill.refusal.filter(|refusal| refusal.code.starts_with("policy_")) {
        parts.push(format!("FORBIDDEN by policy: {}", refusal.message));
    }
    if skill.distrusted {
        parts.push("its key is not trusted here".to_owned());
    }
    if let Some(findings) = skill.findings.filter(|found| found.total() > 0) {
        parts.push(format!("found: {}", counted(&findings.counts())));
    }
    if let Some(reason) = &skill.standing.yanked {
        parts.push(format!("yanked: {}", escape(reason)));
    }
    for advisory in &skill.standing.advisories {
        let what = match advisory.effect {
            Effect::Forbid => "FORBIDDEN by advisory",
            Effect::Warn => "advisory",
        };
        let (id, summary) = (escape(&advisory.id), escape(&advisory.summary));
        parts.push(format!("{what} {id}: {summary}"));
    }
    parts.join("  ")
}
