//! What this registry does not offer of what the client can ask for, and what to do in its place.
//!
//! These are no routes: they answer everybody alike, and read nothing.

use crate::problem::{Code, Refusal};

/// What of a path tells what is asked for, and what is said of it. The first counts.
const UNOFFERED: &[(&str, &str)] = &[
    ("/packages", "this registry has skills alone, and no packages and no plugins"),
    ("/code-plugins", "this registry has skills alone, and no packages and no plugins"),
    ("/bundle-plugins", "this registry has skills alone, and no packages and no plugins"),
    ("/publish/", "this registry has skills alone, and no packages and no plugins"),
    ("/cli/upload-url", "this registry has skills alone, and no packages and no plugins"),
    (
        "/cli/device/",
        "this registry gives no token to a client by a code: have one made by whoever runs it, or by \
         yourself (`skillpkg-registry token mint`), and log in with `clawhub login --token skp_…`",
    ),
    (
        "/stars/",
        "this registry keeps no stars; what is downloaded most is listed by \
         `clawhub explore --sort downloads`",
    ),
    (
        "/transfer",
        "a skill is not transferred here: its owners add another with `skillpkg owner add`, and leave \
         with `skillpkg owner remove`; a skill of a scope is its members' (`skillpkg scope`)",
    ),
    (
        "/rename",
        "a name leads to no other here: publish under the new one, and withdraw the old one with \
         `clawhub delete`",
    ),
    (
        "/merge",
        "a name leads to no other here: publish under the one, and withdraw the other with \
         `clawhub delete`",
    ),
    (
        "/tags/",
        "versions have no tags here: the newest release is picked that is neither yanked nor \
         forbidden; `clawhub delete NAME --version VERSION` yanks one",
    ),
    (
        "/report",
        "this registry takes no reports from here: tell the skill's owners, or whoever runs the \
         registry, who can publish an advisory",
    ),
    (
        "/scan",
        "this registry scans nothing on request: what it finds in a version is noted when it is \
         published, and is shown by `clawhub skill verify` and on the skill's page",
    ),
    ("/moderation", "what is known against a skill stands in its metadata, and in its advisories"),
    ("/skills-sh/", "this registry has its own skills alone: install one by `@SCOPE/NAME`"),
    ("/publishers", "a scope is made by whoever runs the registry: `skillpkg-registry scope add`"),
];

/// The answer for a path that is no route.
pub(in crate::routes::faces) fn refusal(path: &str) -> Refusal {
    let told = UNOFFERED.iter().find(|(part, _)| path.contains(part));
    let told = told.map_or("this registry does not offer this to `clawhub`", |(_, told)| told);
    Refusal::new(Code::NotOffered, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_offered_is_told_with_what_to_do() {
        for (path, told) in [
            ("/api/cli/device/code", "clawhub login --token"),
            ("/api/cli/device/token", "clawhub login --token"),
            ("/clawhub/api/v1/stars/pdf", "no stars"),
            ("/clawhub/api/v1/skills/pdf/transfer/accept", "skillpkg owner add"),
            ("/clawhub/api/v1/transfers/incoming", "skillpkg owner add"),
            ("/clawhub/api/v1/skills/-/scan/download/pdf", "scans nothing"),
            ("/clawhub/api/v1/packages/x/moderation", "no packages"),
            ("/clawhub/api/v1/other", "does not offer"),
        ] {
            let refused = refusal(path);
            assert_eq!(refused.code(), Code::NotOffered);
            assert!(refused.told_in_full().contains(told), "{path}: {}", refused.told_in_full());
        }
    }
}
