//! What is worth an eye in the files of a version, as a page tells it.

use skillpkg_schema::finding::{Finder, Finding, FindingKind};
use skillpkg_schema::wire::VersionEntry;
use skillpkg_schema::{Manifest, SkillPath, Version};

use super::content::Reader;
use super::link;
use super::text::Text;
use crate::problem::{Answer, Refusal};

/// Most bytes of files that are looked into again for one page.
const MOST_BYTES: u64 = 2 * 1024 * 1024;
/// Most files of them.
const MOST_FILES: usize = 200;
/// Most findings that a page lists.
const MOST_LISTED: usize = 20;

/// One finding.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// What kind it is.
    pub(super) kind: &'static str,
    /// What it is.
    pub(super) message: Text,
    /// What stands there.
    pub(super) excerpt: Option<Text>,
    /// Its place in words.
    pub(super) place: Text,
    /// Its place in the file's page.
    pub(super) link: String,
    /// The line.
    pub(super) line: Option<u32>,
}

/// How many there are of a kind.
#[derive(Debug, Clone)]
pub(super) struct Count {
    /// The kind.
    pub(super) kind: Text,
    /// What that is.
    pub(super) meaning: &'static str,
    /// How many.
    pub(super) found: u32,
}

/// The findings of a version.
#[derive(Debug, Clone, Default)]
pub(super) struct Findings {
    /// How many of each kind were found when it was published; [`None`] where nobody looked.
    pub(super) counts: Option<Vec<Count>>,
    /// Where they are.
    pub(super) told: Vec<Told>,
    /// How many more there are than are told.
    pub(super) more: u32,
}

impl Findings {
    /// How many there are in all.
    pub(super) fn total(&self) -> u32 {
        let counts = self.counts.iter().flatten();
        counts.fold(0, |total, count| total.saturating_add(count.found))
    }

    /// The findings of a version: what its document counts, and where they are, as far as that is
    /// soon found out again.
    pub(super) async fn of(
        reader: &Reader,
        manifest: &Manifest,
        entry: &VersionEntry,
    ) -> Answer<Self> {
        let Some(counts) = &entry.findings else { return Ok(Self::default()) };
        let counts: Vec<Count> = counts
            .iter()
            .map(|count| Count {
                kind: count.kind.as_str().into(),
                meaning: meaning(&count.kind),
                found: count.count,
            })
            .collect();
        let mut findings = Self { counts: Some(counts), ..Self::default() };
        if findings.total() == 0 {
            return Ok(findings);
        }
        let mut room = MOST_BYTES;
        let mut files: Vec<(SkillPath, bytes::Bytes)> = Vec::new();
        for file in manifest.files.iter().take(MOST_FILES) {
            if let Some(bytes) = reader.file(file, room).await? {
                room -= bytes.len() as u64;
                files.push((file.path.clone(), bytes));
            }
        }
        let (name, version) = (manifest.name.clone(), manifest.version.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let mut finder = Finder::new();
            for (path, bytes) in &files {
                finder.file(path, &mut bytes.as_ref())?;
            }
            Ok::<_, std::io::Error>(finder.finish())
        });
        let found = looked.await.map_err(|error| Refusal::internal(&error))??;
        let told = found.told().iter().take(MOST_LISTED);
        findings.told = told.map(|finding| told_of(finding, &name, &version)).collect();
        let listed = u32::try_from(findings.told.len()).unwrap_or(u32::MAX);
        findings.more = findings.total().saturating_sub(listed);
        Ok(findings)
    }
}

fn told_of(finding: &Finding, name: &skillpkg_schema::QualifiedName, version: &Version) -> Told {
    let page = link::file(name, version, &finding.file);
    let (place, link) = match finding.line {
        Some(line) => (format!("{}:{line}", finding.file), format!("{page}?from={line}#L{line}")),
        None => (finding.file.clone(), page),
    };
    Told {
        kind: finding.kind.as_str(),
        message: finding.message.as_str().into(),
        excerpt: finding.excerpt.as_deref().map(Text::from),
        place: place.into(),
        link,
        line: finding.line,
    }
}

/// The findings of one file of which the text is at hand.
pub(super) fn in_file(
    name: &skillpkg_schema::QualifiedName,
    version: &Version,
    path: &SkillPath,
    bytes: &[u8],
) -> Vec<Told> {
    let mut finder = Finder::new();
    let mut content = bytes;
    if finder.file(path, &mut content).is_err() {
        return Vec::new();
    }
    let found = finder.finish();
    found.told().iter().take(MOST_LISTED).map(|one| told_of(one, name, version)).collect()
}

/// What a kind is, in a few words; a later registry may know others.
fn meaning(kind: &str) -> &'static str {
    match kind.parse() {
        Ok(FindingKind::HiddenText) => "text that no reader sees",
        Ok(FindingKind::Bidirectional) => "text shown in another order than it is read in",
        Ok(FindingKind::UnseenCharacter) => "an invisible character",
        Ok(FindingKind::HtmlComment) => "a comment that a reader of the page would not see",
        Ok(FindingKind::HiddenMarkup) => "markup that hides its text",
        Ok(FindingKind::Secret) => "what looks like a secret",
        Ok(FindingKind::FetchAndRun) => "something fetched from elsewhere and run",
        Ok(FindingKind::RunsParam) => "a run line in which a param says what runs",
        Ok(FindingKind::HostCommand) => "a command that a host runs by itself",
        Err(_) => "worth an eye",
    }
}
