//! What can be ruled.

use std::fmt;

use serde::Serialize;

/// A rule of a policy, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The registries that skills may come from.
    Registries,
    /// The scopes that skills may be of.
    Scopes,
    /// The keys of which one must have signed a skill.
    Signers,
    /// How long a version must have been published.
    MinimumReleaseAge,
    /// How old a registry's checkpoint may be.
    MaximumCheckpointAge,
    /// The witnesses of which a quorum must have signed a checkpoint.
    Witnesses,
    /// Whether a skill must be in its registry's log.
    RequireLog,
    /// The programs that no skill may run.
    ForbidPrograms,
    /// The runtimes and runners that no script may run with.
    ForbidRunners,
    /// Patterns that no run line may match.
    ForbidRun,
    /// Whether an update may bring what the version before did not run.
    NewExecutables,
    /// What is done about a kind of finding.
    Findings,
}

impl Rule {
    /// Every rule, as a policy is shown.
    pub const ALL: [Self; 12] = [
        Self::Registries,
        Self::Scopes,
        Self::Signers,
        Self::MinimumReleaseAge,
        Self::MaximumCheckpointAge,
        Self::Witnesses,
        Self::RequireLog,
        Self::ForbidPrograms,
        Self::ForbidRunners,
        Self::ForbidRun,
        Self::NewExecutables,
        Self::Findings,
    ];

    /// Its key in a policy's file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Registries => "registries",
            Self::Scopes => "scopes",
            Self::Signers => "signers",
            Self::MinimumReleaseAge => "minimum-release-age",
            Self::MaximumCheckpointAge => "maximum-checkpoint-age",
            Self::Witnesses => "witnesses",
            Self::RequireLog => "require-log",
            Self::ForbidPrograms => "forbid-programs",
            Self::ForbidRunners => "forbid-runners",
            Self::ForbidRun => "forbid-run",
            Self::NewExecutables => "new-executables",
            Self::Findings => "findings",
        }
    }

    /// The stable code of a refusal by it; three are what the checks of a log refuse with, whoever
    /// asks for them.
    pub fn code(self) -> &'static str {
        match self {
            Self::Registries => "policy_registry",
            Self::Scopes => "policy_scope",
            Self::Signers => "policy_signer",
            Self::MinimumReleaseAge => "policy_release_age",
            Self::MaximumCheckpointAge => "checkpoint_stale",
            Self::Witnesses => "witness_quorum",
            Self::RequireLog => "log_missing",
            Self::ForbidPrograms => "policy_program",
            Self::ForbidRunners => "policy_runner",
            Self::ForbidRun => "policy_run",
            Self::NewExecutables => "policy_executables",
            Self::Findings => "policy_finding",
        }
    }

    /// What it says, in one sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Registries => "Skills come from the registries that the policy names.",
            Self::Scopes => "Skills are of the scopes that the policy names.",
            Self::Signers => "Skills are signed with a key that the policy names.",
            Self::MinimumReleaseAge => "A version has been published for some time.",
            Self::MaximumCheckpointAge => "A registry's checkpoint is not too old.",
            Self::Witnesses => "Witnesses have signed a registry's checkpoint.",
            Self::RequireLog => "A skill is in its registry's log.",
            Self::ForbidPrograms => "No skill runs a program that the policy forbids.",
            Self::ForbidRunners => "No script runs with a runner that the policy forbids.",
            Self::ForbidRun => "No run line matches a pattern that the policy forbids.",
            Self::NewExecutables => "An update runs nothing that the version before did not run.",
            Self::Findings => "A skill's files hold nothing of a kind that the policy refuses.",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_key_and_a_code_of_its_own() {
        for (position, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.key());
            let of_the_log = ["checkpoint_stale", "witness_quorum", "log_missing"];
            assert!(of_the_log.contains(&rule.code()) || rule.code().starts_with("policy_"));
            for other in &Rule::ALL[..position] {
                assert!(rule.key() != other.key() && rule.code() != other.code());
            }
        }
    }
}
