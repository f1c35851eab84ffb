//! What is to be copied to install a skill, for each client.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::VersionEntry;

use super::link::segment;

/// How one client installs a skill.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// What tells it apart in the page.
    pub(super) id: &'static str,
    /// The client.
    pub(super) client: &'static str,
    /// What to type, line by line.
    pub(super) lines: Vec<String>,
    /// What is to be known.
    pub(super) note: &'static str,
}

/// How each client installs a version of a skill from the registry that is reached at `base`.
pub(super) fn ways(
    name: &QualifiedName,
    entry: &VersionEntry,
    is_newest: bool,
    private: bool,
    base: &str,
) -> Vec<Way> {
    let (scope, within, version) = (name.wire_scope(), name.name(), &entry.version);
    let wanted = if is_newest { name.to_string() } else { format!("{name}@={version}") };
    let number = segment(&version.to_string()).replace("%2B", "+");
    let skills = if private {
        format!("npx skills add {base}/t/TOKEN/s/{scope}/{within}")
    } else {
        format!("npx skills add {base}/s/{scope}/{within}")
    };
    let owned = match name.scope() {
        Some(scope) => format!("@{scope}/{within}"),
        None => within.to_string(),
    };
    vec![
        Way {
            id: "skillpkg",
            client: "skillpkg",
            lines: vec![
                format!("skillpkg install '{wanted}' --registry {base}")
                    .replace(&format!("'{name}'"), &name.to_string()),
            ],
            note: "Checks the signature, the log and every file before anything becomes active.",
        },
        Way {
            id: "skills",
            client: "npx skills",
            lines: vec![skills],
            note: if private {
                "TOKEN is one that grants `read` and nothing else: this client writes it into its \
                 lockfile. It checks the digest of what it unpacks, and no signature."
            } else {
                "Takes the newest version and checks the digest of what it unpacks, and no signature."
            },
        },
        Way {
            id: "apm",
            client: "apm",
            lines: vec![
                "apm experimental enable registries".to_owned(),
                format!("apm config set registry.skillpkg.url {base}/apm"),
                "apm config set registry.skillpkg.default true".to_owned(),
                format!("apm install '{scope}/{within}#{number}'"),
            ],
            note: "The first three once. Checks the digest of what it unpacks, and no signature.",
        },
        Way {
            id: "clawhub",
            client: "clawhub",
            lines: vec![format!(
                "npx clawhub --registry {base}/clawhub install {owned} --version {number}"
            )],
            note: "This client checks neither digest nor signature: it trusts the connection.",
        },
    ]
}
