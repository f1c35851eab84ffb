//! Which build service an issuer is of, and what that means for what its identities say.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use url::Url;

use super::error::IdentityError;

/// What an identity says, claim by claim, each as text.
pub type Claims = BTreeMap<String, String>;

/// The workflow's file, which is no claim of its own: it stands in `workflow_ref`.
pub const WORKFLOW_FILE: &str = "workflow_file";
/// Where the workflows of a repository lie.
const WORKFLOWS: &str = ".github/workflows/";

/// A build service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// GitHub Actions, at github.com or elsewhere.
    GitHub,
    /// GitLab CI, at gitlab.com or elsewhere.
    GitLab,
    /// Any other that issues OIDC identities.
    Other,
}

impl Provider {
    /// Its word.
    pub fn text(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Other => "other",
        }
    }

    /// The claims that must be recorded.
    pub fn required(self) -> &'static [&'static str] {
        match self {
            Self::GitHub => &["repository", "repository_owner_id", WORKFLOW_FILE],
            Self::GitLab => &["project_path", "project_id", "namespace_id"],
            Self::Other => &["sub"],
        }
    }

    /// Claims of which one more must be recorded; empty where none is.
    pub fn one_of(self) -> &'static [&'static str] {
        match self {
            Self::GitLab => &["ref", "ref_protected", "environment"],
            Self::GitHub | Self::Other => &[],
        }
    }

    /// The claims that nobody else can have, whatever is renamed: who has them is no stranger to what is
    /// recorded with them.
    pub fn identifying(self) -> &'static [&'static str] {
        match self {
            Self::GitHub => &["repository_owner_id"],
            Self::GitLab => &["namespace_id"],
            Self::Other => &["sub"],
        }
    }

    /// Whether a recorded value can be what an identity says; the claim is one that is required.
    pub fn can_be(self, claim: &str, value: &str) -> bool {
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let is_path = |value: &str| {
            let parts: Vec<&str> = value.split('/').collect();
            parts.len() >= 2 && parts.iter().all(|part| !part.is_empty())
        };
        match (self, claim) {
            (Self::GitHub | Self::GitLab, claim) if claim.ends_with("_id") => is_number,
            (Self::GitHub, "repository") => is_path(value) && value.matches('/').count() == 1,
            (Self::GitHub, WORKFLOW_FILE) => is_workflow(value),
            (Self::GitLab, "project_path") => is_path(value),
            _ => true,
        }
    }

    /// Adds what is derived from the claims, and refuses identities that others can cause than those
    /// who may write to the repository.
    pub(super) fn complete(self, claims: &mut Claims) -> Result<(), IdentityError> {
        // What is derived is never taken from the token.
        claims.remove(WORKFLOW_FILE);
        match self {
            Self::GitHub => {
                refuse_github_events(claims)?;
                if let Some(file) = workflow_file(claims) {
                    claims.insert(WORKFLOW_FILE.to_owned(), file);
                }
                Ok(())
            }
            Self::GitLab => refuse_gitlab_events(claims),
            Self::Other => Ok(()),
        }
    }
}

fn is_workflow(path: &str) -> bool {
    let file = path.strip_prefix(WORKFLOWS);
    file.is_some_and(|file| !file.is_empty() && !file.contains('/'))
}

/// The file of the workflow that runs, in its own repository.
///
/// `OWNER/NAME/.github/workflows/FILE@refs/…`: neither the name of a repository nor that of a file in
/// that directory holds a `/`, so that the first `@refs/` is where the ref begins, whatever is in it.
fn workflow_file(claims: &Claims) -> Option<String> {
    let repository = claims.get("repository")?;
    let path = claims.get("workflow_ref")?.strip_prefix(repository.as_str())?.strip_prefix('/')?;
    let (file, _) = path.split_once("@refs/")?;
    is_workflow(file).then(|| file.to_owned())
}

/// Pull requests come from forks, and what one causes runs with whatever they hold.
fn refuse_github_events(claims: &Claims) -> Result<(), IdentityError> {
    const PULL: &str = "whoever may open a pull request can cause that";
    let event = claims.get("event_name").ok_or(IdentityError::Missing("event_name"))?;
    if event.starts_with("pull_request") || event == "workflow_run" {
        return Err(IdentityError::Foreign {
            claim: "event_name",
            seen: event.clone(),
            reason: PULL,
        });
    }
    let reference = claims.get("ref").ok_or(IdentityError::Missing("ref"))?;
    if reference.starts_with("refs/pull/") {
        return Err(IdentityError::Foreign { claim: "ref", seen: reference.clone(), reason: PULL });
    }
    Ok(())
}

fn refuse_gitlab_events(claims: &Claims) -> Result<(), IdentityError> {
    const REQUEST: &str = "whoever may open a merge request can cause that";
    let source = claims.get("pipeline_source").ok_or(IdentityError::Missing("pipeline_source"))?;
    if ["merge_request_event", "external_pull_request_event"].contains(&source.as_str()) {
        let (claim, seen) = ("pipeline_source", source.clone());
        return Err(IdentityError::Foreign { claim, seen, reason: REQUEST });
    }
    Ok(())
}

/// Not an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the `https` URL of an issuer, as its identities have it in `iss`, such as \
     `https://token.actions.githubusercontent.com`; before one that is not at github.com or gitlab.com, \
     `github=` or `gitlab=` says which service it is"
)]
pub struct IssuerError;

/// An issuer that an operator trusts to say who its jobs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// Its URL as identities have it, byte for byte.
    pub(super) name: String,
    /// The same, as it is asked.
    pub(super) url: Url,
    /// Of which service it is.
    pub(super) provider: Provider,
}

impl FromStr for Issuer {
    type Err = IssuerError;

    /// Reads `URL` or `SERVICE=URL`.
    fn from_str(text: &str) -> Result<Self, IssuerError> {
        let (said, name) = match text.split_once('=') {
            Some(("github", url)) => (Some(Provider::GitHub), url),
            Some(("gitlab", url)) => (Some(Provider::GitLab), url),
            Some(("other", url)) => (Some(Provider::Other), url),
            _ => (None, text),
        };
        let url = Url::parse(name).map_err(|_| IssuerError)?;
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.as_str().trim_end_matches('/') == name.trim_end_matches('/');
        if !is_plain {
            return Err(IssuerError);
        }
        let known = match name {
            "https://token.actions.githubusercontent.com" => Provider::GitHub,
            "https://gitlab.com" => Provider::GitLab,
            _ => Provider::Other,
        };
        Ok(Self { name: name.to_owned(), url, provider: said.unwrap_or(known) })
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.provider.text(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(all: &[(&str, &str)]) -> Claims {
        all.iter().map(|(claim, value)| ((*claim).to_owned(), (*value).to_owned())).collect()
    }

    fn github(more: &[(&str, &str)]) -> Result<Option<String>, String> {
        let mut all = claims(&[
            ("repository", "acme/waitlist"),
            ("event_name", "push"),
            ("ref", "refs/heads/main"),
            ("workflow_ref", "acme/waitlist/.github/workflows/release.yml@refs/heads/main"),
        ]);
        all.extend(claims(more));
        Provider::GitHub.complete(&mut all).map_err(|error| error.to_string())?;
        Ok(all.remove(WORKFLOW_FILE))
    }

    #[test]
    fn the_file_of_a_workflow_is_the_one_that_runs_in_its_own_repository() {
        let release = Ok(Some(".github/workflows/release.yml".to_owned()));
        assert_eq!(github(&[]), release);
        assert_eq!(github(&[(WORKFLOW_FILE, ".github/workflows/other.yml")]), release);
        let of = |file: &str| github(&[("workflow_ref", file)]);
        assert_eq!(of("acme/waitlist/.github/workflows/release.yml@refs/tags/a@b@refs/c"), release);
        for other in [
            "acme/other/.github/workflows/release.yml@refs/heads/main",
            "acme/waitlist2/.github/workflows/release.yml@refs/heads/main",
            "acme/waitlist/.github/workflows/release.yml",
            "acme/waitlist/.github/workflows/sub/release.yml@refs/heads/main",
            "acme/waitlist/release.yml@refs/heads/main",
            "acme/waitlist/.github/workflows/@refs/heads/main",
            "",
        ] {
            assert_eq!(of(other), Ok(None), "{other}");
        }
        // A file that is called as another with a ref behind it.
        let spoofed = of("acme/waitlist/.github/workflows/release.yml@x.yml@refs/heads/main");
        assert_eq!(spoofed, Ok(Some(".github/workflows/release.yml@x.yml".to_owned())));
    }

    #[test]
    fn what_anybody_can_cause_is_refused() {
        for event in [
            "pull_request",
            "pull_request_target",
            "pull_request_review",
            "pull_request_review_comment",
            "workflow_run",
        ] {
            let refused = github(&[("event_name", event)]).unwrap_err();
            assert!(refused.contains(event), "{refused}");
        }
        for reference in ["refs/pull/7/merge", "refs/pull/7/head"] {
            assert!(github(&[("ref", reference)]).unwrap_err().contains(reference));
        }
        for absent in ["event_name", "ref"] {
            let mut all = claims(&[("event_name", "push"), ("ref", "refs/heads/main")]);
            all.remove(absent);
            assert!(Provider::GitHub.complete(&mut all).is_err(), "{absent}");
        }
        for (source, taken) in
            [("push", true), ("merge_request_event", false), ("external_pull_request_event", false)]
        {
            let mut all = claims(&[("pipeline_source", source)]);
            assert_eq!(Provider::GitLab.complete(&mut all).is_ok(), taken, "{source}");
        }
        assert!(Provider::GitLab.complete(&mut Claims::new()).is_err());
        assert!(Provider::Other.complete(&mut Claims::new()).is_ok());
    }

    #[test]
    fn an_issuer_is_a_url_and_the_service_that_it_is_of() {
        for (text, shown) in [
            (
                "https://token.actions.githubusercontent.com",
                "github=https://token.actions.githubusercontent.com",
            ),
            ("https://gitlab.com", "gitlab=https://gitlab.com"),
            ("https://ci.example/oidc", "other=https://ci.example/oidc"),
            ("gitlab=https://git.example", "gitlab=https://git.example"),
            ("github=http://127.0.0.1:8080/x/", "github=http://127.0.0.1:8080/x/"),
        ] {
            assert_eq!(
                text.parse::<Issuer>().map(|issuer| issuer.to_string()).as_deref(),
                Ok(shown)
            );
        }
        for text in [
            "",
            "gitlab",
            "bitbucket=https://bitbucket.org",
            "file:///etc",
            "https://",
            "https://a:b@ci.example",
            "https://ci.example?x=1",
            "https://ci.example#x",
            "https://CI.example",
            "https://ci.example:443",
            "https://ci.example/a/../b",
        ] {
            assert!(text.parse::<Issuer>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_recorded_can_be_what_an_identity_says() {
        for (provider, claim, value, can) in [
            (Provider::GitHub, "repository", "acme/waitlist", true),
            (Provider::GitHub, "repository", "waitlist", false),
            (Provider::GitHub, "repository", "acme/waitlist/x", false),
            (Provider::GitHub, "repository_owner_id", "4077", true),
            (Provider::GitHub, "repository_owner_id", "acme", false),
            (Provider::GitHub, "repository_id", "", false),
            (Provider::GitHub, WORKFLOW_FILE, ".github/workflows/r.yml", true),
            (Provider::GitHub, WORKFLOW_FILE, "r.yml", false),
            (Provider::GitLab, "project_path", "group/sub/project", true),
            (Provider::GitLab, "project_path", "project", false),
            (Provider::GitLab, "namespace_id", "x1", false),
            (Provider::Other, "sub", "anything", true),
        ] {
            assert_eq!(provider.can_be(claim, value), can, "{claim} {value}");
        }
    }
}
