//! All findings of a skill.

use std::io::{self, Read};

use super::findings::{Findings, Sink};
use super::kind::FindingKind;
use super::text::Text;
use super::{characters, fetch, given, host, markup, secret};
use crate::limits::MAX_SKILL_FILE_BYTES;
use crate::path::SkillPath;
use crate::tree::{Entry, Tree};

/// Longest text that is looked into whole: a model is shown no longer one at once.
const MAX_BYTES: usize = 1024 * 1024;
const _: () =
    assert!(MAX_BYTES as u64 == MAX_SKILL_FILE_BYTES && MAX_BYTES == secret::SCANNED_BYTES);
/// Most bytes of all files together that are looked into.
const MAX_ALL_BYTES: u64 = 128 * 1024 * 1024;
/// Ends of names of files that are read as Markdown, in lower case.
const MARKDOWN_ENDS: [&str; 5] = [".md", ".markdown", ".mdx", ".mdc", ".mkd"];

/// Looks into each of `files` of a skill; what is no regular file of `tree` is passed over.
///
/// The first MiB of each file is looked at: for secrets where it holds no NUL, and for all else
/// where the file is no longer and UTF-8. A longer text is counted as not looked into whole, and so
/// is what comes after 128 MiB in all. Time grows with the length of the files; memory is needed for
/// one of them, and for at most 400 findings.
pub fn find<'p>(
    tree: &dyn Tree,
    files: impl IntoIterator<Item = &'p SkillPath>,
) -> io::Result<Findings> {
    let mut finder = Finder::new();
    for path in files {
        if let Some(Entry::File { .. }) = tree.entry(path.as_str())? {
            finder.file(path, &mut *tree.open(path.as_str())?)?;
        }
    }
    Ok(finder.finish())
}

/// What [`find`] does, for whoever is given the files one after the other.
#[derive(Debug)]
pub struct Finder {
    findings: Findings,
    room: u64,
}

impl Finder {
    /// One that has seen no file.
    #[expect(clippy::new_without_default, reason = "there is nothing that it would stand in for")]
    pub fn new() -> Self {
        Self { findings: Findings::default(), room: MAX_ALL_BYTES }
    }

    /// Looks into a file; reads no more of it than its first MiB.
    pub fn file(&mut self, path: &SkillPath, content: &mut dyn Read) -> io::Result<()> {
        let most = (MAX_BYTES as u64 + 1).min(self.room);
        let mut bytes = Vec::new();
        content.take(most).read_to_end(&mut bytes)?;
        self.room -= bytes.len() as u64;
        let is_whole = bytes.len() <= MAX_BYTES && self.room > 0;
        bytes.truncate(MAX_BYTES);
        in_file(path, &bytes, is_whole, &mut self.findings);
        Ok(())
    }

    /// Everything that was found.
    pub fn finish(mut self) -> Findings {
        self.findings.sort();
        self.findings
    }
}

fn in_file(path: &SkillPath, bytes: &[u8], is_whole: bool, findings: &mut Findings) {
    let is_binary = bytes.contains(&0);
    if !is_whole && !is_binary {
        findings.add_unread();
    }
    let mut sink = Sink::new(findings, path.as_str());
    for secret in secret::find(path, bytes) {
        let message = format!("what looks like {}", secret.what);
        sink.unshown(FindingKind::Secret, secret.line, &message);
    }
    if is_binary || !is_whole {
        return;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let text = Text::new(text);
    let is_skill_file = *path == SkillPath::skill_file();
    let name = path.file_name().to_ascii_lowercase();
    let is_markdown = MARKDOWN_ENDS.iter().any(|end| name.ends_with(end));
    characters::find(&text, is_markdown, &mut sink);
    if is_markdown {
        for hidden in markup::hidden_in_markdown(text.whole()) {
            let end = if text.is_comment_at(hidden.offset) { "-->" } else { "\n" };
            sink.until(&text, hidden.kind, hidden.offset, end, hidden.message);
        }
    }
    for run in fetch::fetched_and_run(text.whole(), is_markdown) {
        let message = run.message(|offset| text.place(offset).0);
        sink.at(&text, FindingKind::FetchAndRun, run.offset, &message);
    }
    if is_skill_file {
        host::find(&text, &mut sink);
        given::find(&text, &mut sink);
    }
}
