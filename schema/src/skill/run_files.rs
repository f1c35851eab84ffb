//! Words of a run line that name files: whether a call will find them.

use super::includes::{self, IncludeReason};
use super::run::{Part, parts};
use super::{Dialect, SkillFile, Tool};
use crate::diagnostic::{Diagnostic, escape};
use crate::path::SkillPath;
use crate::tree::{Entry, Tree};

/// Ends of names that scripts have.
const SCRIPT_EXTENSIONS: [&str; 14] =
    ["bash", "cjs", "fish", "js", "lua", "mjs", "php", "pl", "ps1", "py", "rb", "sh", "ts", "zsh"];
/// Longest end of a name that is taken for a file's.
const MAX_EXTENSION: usize = 5;

/// Warns of the words of run lines that a call will not find: files of the directory that are not
/// packed, and what looks like a file of the skill and is not there.
///
/// For whoever writes the skill, in its directory: `tree` is all of it, `is_packed` tells which of
/// its files are packed. Words that hold a param, absolute paths, options and addresses are left
/// alone.
pub fn run_files(
    file: &SkillFile,
    tree: &dyn Tree,
    is_packed: &dyn Fn(&SkillPath) -> bool,
) -> Vec<Diagnostic> {
    let examined = Examined { file, tree, is_packed };
    let mut told = Vec::new();
    for tool in &file.tools {
        for (position, word) in tool.run.words().enumerate() {
            let Some(word) = literal(word) else { continue };
            let fault =
                if position == 0 { examined.program(&word) } else { examined.argument(&word) };
            if let Some((code, message, hint)) = fault {
                told.push(warning(tool, code, &message, hint));
            }
        }
    }
    told
}

/// A code, what is said of the word, a hint.
type Fault = (&'static str, String, String);

fn warning(tool: &Tool, code: &str, message: &str, hint: String) -> Diagnostic {
    Diagnostic::warning(code, format!("tool `{}`: {message}", escape(&tool.id)))
        .in_file(SkillPath::skill_file().as_str())
        .at_line(tool.line)
        .with_hint(hint)
}

/// The word, `$$` read as `$`; [`None`] where it holds a param.
fn literal(word: &str) -> Option<String> {
    parts(word)
        .into_iter()
        .map(|part| match part {
            Part::Literal(text) => Some(text),
            Part::Param(_) => None,
        })
        .collect()
}

struct Examined<'a> {
    file: &'a SkillFile,
    tree: &'a dyn Tree,
    is_packed: &'a dyn Fn(&SkillPath) -> bool,
}

impl Examined<'_> {
    /// A program without a path is looked up on PATH, and never in the skill.
    fn program(&self, word: &str) -> Option<Fault> {
        if word.contains('/') || !self.is_file(word) {
            return None;
        }
        let shown = escape(word);
        Some((
            "run_program_on_path",
            format!("the program `{shown}` is looked up on PATH, not among the skill's files"),
            format!("to start the file, write `./{shown}`, or name its interpreter before it"),
        ))
    }

    fn argument(&self, word: &str) -> Option<Fault> {
        let word = match word.strip_prefix('-') {
            Some(option) => option.split_once('=')?.1,
            None => word,
        };
        let is_elsewhere = word.starts_with(['/', '~', '\\'])
            || word.contains("://")
            || word.contains(|one: char| {
                one.is_whitespace() || "*?|<>;&\"'`{}()[],:@\\".contains(one)
            });
        if word.is_empty() || is_elsewhere {
            return None;
        }
        match includes::normalize(word) {
            Ok(path) if path == "." => None,
            Ok(path) => self.relative(word, &path),
            Err(IncludeReason::Climbs) if looks_like_file(word) => Some((
                "run_file_missing",
                format!("`{}` is outside the skill", escape(word)),
                "calls start in the skill's own directory, and only its files travel with it"
                    .to_owned(),
            )),
            Err(_) => None,
        }
    }

    fn relative(&self, word: &str, path: &str) -> Option<Fault> {
        let shown = escape(path);
        let entry = path.parse::<SkillPath>().ok().and_then(|path| {
            let entry = self.tree.entry(path.as_str()).ok()??;
            Some((path, entry))
        });
        match entry {
            Some((path, Entry::File { .. })) => (!(self.is_packed)(&path)).then(|| {
                let message = format!("the file `{shown}` is not packed, so calls will miss it");
                ("run_file_not_packed", message, self.to_pack(&shown))
            }),
            None if looks_like_file(word) => Some(self.missing(path)),
            _ => None,
        }
    }

    fn missing(&self, path: &str) -> Fault {
        let shown = escape(path);
        let within = path.split_once('/').map(|(_, within)| within);
        let message = format!("the file `{shown}` is not there");
        let hint = match within.filter(|within| self.is_file(within)) {
            Some(within) => {
                format!("calls start in the skill's own directory: write `{}`", escape(within))
            }
            None => format!("calls start in the skill's own directory: {}", self.to_add(&shown)),
        };
        ("run_file_missing", message, hint)
    }

    fn is_file(&self, path: &str) -> bool {
        path.parse::<SkillPath>().is_ok()
            && matches!(self.tree.entry(path), Ok(Some(Entry::File { .. })))
    }

    /// What makes a file that is there one of the packed.
    fn to_pack(&self, shown: &str) -> String {
        match (&self.file.includes, self.file.dialect) {
            (None, Dialect::Agent) => {
                format!(
                    "it is left out as what tools leave behind; take it back with `!{shown}` in `.skillignore`"
                )
            }
            (None, Dialect::Hard) => format!("write `includes: {shown}` in the frontmatter"),
            (Some(_), _) => format!("add `{shown}` to `includes` in the frontmatter"),
        }
    }

    /// What makes a file that is not there one of the packed.
    fn to_add(&self, shown: &str) -> String {
        match (&self.file.includes, self.file.dialect) {
            (None, Dialect::Agent) => "put the file there".to_owned(),
            (None, Dialect::Hard) => format!("put the file there, and write `includes: {shown}`"),
            (Some(_), _) => format!("put the file there, and add `{shown}` to `includes`"),
        }
    }
}

/// Whether a word is most likely meant as a file: its name ends as a script's does, or it has a
/// directory and an end at all. `application/json` and `owner/repository` have none.
fn looks_like_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    if stem.is_empty() {
        return false;
    }
    let is_extension = extension.len() <= MAX_EXTENSION
        && extension.starts_with(|first: char| first.is_ascii_alphabetic())
        && extension.chars().all(|one| one.is_ascii_alphanumeric());
    SCRIPT_EXTENSIONS.contains(&extension) || (word.contains('/') && is_extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::parse;
    use crate::tree::MemoryTree;

    /// The codes and hints told of a run line of the skill `waitlist`, in whose directory
    /// `handle.py` and `data/a.sql` are packed and `m.sh` is not.
    fn told(run: &str) -> Vec<(String, String)> {
        let text = format!(
            "---\nskill: waitlist\ndescription: d\nincludes: handle.py, data\n---\n\n```tool\nid: \
             t\ndescription: d\nparams:\n  p:\n    type: string\nrun: {run} $p\n```\n"
        );
        let file = parse(text.as_bytes(), "SKILL.md").unwrap();
        let mut tree = MemoryTree::default();
        for path in ["SKILL.md", "handle.py", "data/a.sql", "m.sh"] {
            tree.insert(path, false, "");
        }
        let told = run_files(&file, &tree, &|path| path.as_str() != "m.sh");
        told.into_iter()
            .map(|one| {
                assert_eq!(one.line, Some(7));
                (one.code, one.hint.unwrap())
            })
            .collect()
    }

    #[test]
    fn files_that_a_call_will_not_find_are_told() {
        for (run, code, hint) in [
            ("sh m.sh", "run_file_not_packed", "add `m.sh` to `includes`"),
            ("sh ./m.sh", "run_file_not_packed", "add `m.sh` to `includes`"),
            ("sh --file=m.sh", "run_file_not_packed", "add `m.sh` to `includes`"),
            ("sh gone.sh", "run_file_missing", "put the file there"),
            ("node lib/gone.js", "run_file_missing", "put the file there"),
            ("cat data/b.sql", "run_file_missing", "put the file there"),
            ("python3 waitlist/handle.py", "run_file_missing", "write `handle.py`"),
            ("python3 ../handle.py", "run_file_missing", "the skill's own directory"),
            ("m.sh", "run_program_on_path", "write `./m.sh`"),
        ] {
            let told = told(run);
            assert_eq!(told.len(), 1, "{run}: {told:?}");
            assert_eq!(told[0].0, code, "{run}");
            assert!(told[0].1.contains(hint), "{run}: {}", told[0].1);
        }
    }

    #[test]
    fn what_is_packed_or_no_file_of_the_skill_is_not_told() {
        for run in [
            "python3 handle.py",
            "python3 ./handle.py data data/a.sql",
            "python3 /opt/handle.py",
            "gh api repos/owner/name",
            "curl -H application/json https://x.y/a.js",
            "curl -o $p.sh",
            "python3 -m http.server",
            "awk {print}",
            "test 1.5",
            "git show HEAD:gone.py",
            "sh .",
        ] {
            assert_eq!(told(run), [], "{run}");
        }
    }
}
