//! `skillpkg list --eligible`.

use skillpkg::Error;
use skillpkg::eligibility::{HostCondition, LeftToHost, Missing, Verdict};
use skillpkg_schema::diagnostic::escape;

use super::{Shape, Skill};
use crate::context::Context;

/// Tells which skills a host should offer, then of each other what is in the way.
pub(super) fn tell(skills: Vec<Skill<'_>>, context: &Context) -> Result<u8, Error> {
    let output = context.output;
    let verdict = |skill: &Skill<'_>| skill.verdict.clone().unwrap_or_default();
    let (offered, others): (Vec<&Skill<'_>>, Vec<&Skill<'_>>) =
        skills.iter().partition(|skill| verdict(skill).eligible);
    for skill in &offered {
        let mut line = format!("{}@{}", skill.name, skill.version);
        for left in left_to_host(&verdict(skill)) {
            line.push_str("  ");
            line.push_str(&left);
        }
        output.text(&line)?;
    }
    if !others.is_empty() {
        output.text("not eligible:")?;
    }
    for skill in &others {
        output.text(&format!("  {}@{}", skill.name, skill.version))?;
        for reason in reasons(&verdict(skill)) {
            output.text(&format!("    {reason}"))?;
        }
    }
    if skills.is_empty() {
        output.talk("no skill is installed here");
    }
    let eligible = Some(offered.iter().map(|skill| skill.name).collect());
    output.json(&Shape { eligible, system: Some(std::env::consts::OS), skills })?;
    Ok(0)
}

/// What is in the way, a line each.
fn reasons(verdict: &Verdict) -> Vec<String> {
    let mut reasons = Vec::new();
    let with_hint = |message: &str, hint: Option<&String>| match hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message.to_owned(),
    };
    if let Some(refusal) = &verdict.refusal {
        reasons.push(with_hint(&refusal.message, refusal.hint.as_ref()));
    }
    if !verdict.changed.is_empty() {
        let changed: Vec<String> = verdict.changed.iter().map(|path| format!("`{path}`")).collect();
        reasons.push(format!(
            "not as it was signed: {}; `skillpkg verify` tells how to mend it",
            changed.join(", ")
        ));
    }
    let lacking = |missing: &Missing| with_hint(&missing.told.message, missing.told.hint.as_ref());
    reasons.extend(verdict.missing.iter().map(lacking));
    reasons.extend(left_to_host(verdict));
    reasons
}

fn left_to_host(verdict: &Verdict) -> impl Iterator<Item = String> {
    verdict.left_to_host.iter().map(|LeftToHost { kind, name }| match kind {
        HostCondition::Config => {
            format!("only its host knows whether its `{}` is set", escape(name))
        }
        HostCondition::Unknown => {
            format!("only its host can judge `{}`, which says what is needed", escape(name))
        }
    })
}
