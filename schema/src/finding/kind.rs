//! What kinds of findings there are.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::severity::Severity;
use crate::diagnostic::{escape, nearest};

/// A kind of finding; its text is in `kebab-case` and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FindingKind {
    /// Characters that spell text which no reader sees: tag letters, runs of invisible ones, the
    /// payloads of variation selectors.
    HiddenText,
    /// Marks that show text in another order than it is read in (CVE-2021-42574).
    Bidirectional,
    /// A single character that is not seen and does nothing to its neighbours, as copying from a
    /// page brings along: it parts a word for who searches, and for no one who reads.
    UnseenCharacter,
    /// A comment in HTML that speaks to who reads the source.
    HtmlComment,
    /// HTML that keeps the text in it from whoever sees the page.
    HiddenMarkup,
    /// What looks like a private key, a token or a file of secrets.
    Secret,
    /// What is fetched from elsewhere and run, or unpacked from a text and run.
    FetchAndRun,
    /// A command that a host runs when it reads the skill, or at an event of its own.
    HostCommand,
    /// A run line that leaves it to whoever calls the tool what runs: its program, its script, or
    /// what a shell or an interpreter is given to run is a param of any text.
    RunsParam,
}

/// A text that is no kind of finding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no kind of finding; {}", escape(.0), offer(.0))]
pub struct UnknownKind(pub String);

fn offer(text: &str) -> String {
    let kinds = FindingKind::ALL.map(FindingKind::as_str);
    match nearest(text, kinds) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are `{}`", kinds.join("`, `")),
    }
}

impl FindingKind {
    /// Every kind, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::HiddenText,
        Self::Bidirectional,
        Self::UnseenCharacter,
        Self::HtmlComment,
        Self::HiddenMarkup,
        Self::Secret,
        Self::FetchAndRun,
        Self::HostCommand,
        Self::RunsParam,
    ];

    /// The stable text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HiddenText => "hidden-text",
            Self::Bidirectional => "bidirectional",
            Self::UnseenCharacter => "unseen-character",
            Self::HtmlComment => "html-comment",
            Self::HiddenMarkup => "hidden-markup",
            Self::Secret => "secret",
            Self::FetchAndRun => "fetch-and-run",
            Self::HostCommand => "host-command",
            Self::RunsParam => "runs-param",
        }
    }

    /// What a finding of the kind does to an install where no policy says otherwise.
    ///
    /// What no honest file needs is refused, as no registry takes it; the rest is for a person to
    /// judge.
    pub fn default_severity(self) -> Severity {
        match self {
            Self::HiddenText | Self::Bidirectional => Severity::Refuse,
            Self::UnseenCharacter
            | Self::HtmlComment
            | Self::HiddenMarkup
            | Self::Secret
            | Self::FetchAndRun
            | Self::HostCommand
            | Self::RunsParam => Severity::Warn,
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FindingKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        kind.ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_from_its_text_and_from_no_other() {
        for kind in FindingKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        let error = "hiden-text".parse::<FindingKind>().unwrap_err().to_string();
        assert_eq!(error, "`hiden-text` is no kind of finding; did you mean `hidden-text`?");
        let error = "zzzzzzzz\u{1b}".parse::<FindingKind>().unwrap_err().to_string();
        assert!(error.contains("there are `hidden-text`, `bidirectional`"), "{error}");
        assert!(!error.contains('\u{1b}'), "{error}");
    }
}
