//! Which files of a directory are packed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::{MAX_FILES, MAX_PATH_DEPTH, MAX_PATH_PART_BYTES};
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::path::{PathError, check_path_set, windows_refuses};
use skillpkg_schema::skill::{Dialect, SkillFile};
use skillpkg_schema::tree::{Entry, NameNotUtf8, Tree};
use skillpkg_schema::{Diagnostic, Faults, SkillPath};

use super::droppings::{is_dropping, is_never_packed};

/// The file that says what is left out, in the syntax of gitignore; read at the top only.
const IGNORE_FILE: &str = ".skillignore";
/// Most bytes of it.
const MAX_IGNORE_BYTES: u64 = 64 * 1024;
/// Most faults told of one directory: enough to work on.
const MAX_FAULTS: usize = 50;

/// The files that are packed of the skill in `tree`, whose `SKILL.md` is `file`; sorted by bytes.
///
/// `SKILL.md` and, where `includes` is declared, exactly what it names. An Agent Skill without
/// `includes` is its whole directory less what `.skillignore` names, version control and the
/// droppings of tools. A link or a special file among them is an error, and so is a path that some
/// file system cannot hold.
pub fn chosen_files(tree: &dyn Tree, file: &SkillFile) -> Result<Vec<(SkillPath, Mode)>, Faults> {
    choose(tree, file).map(|(files, _)| files)
}

/// Files with their modes, sorted by the bytes of their paths.
type Chosen = Vec<(SkillPath, Mode)>;

/// What [`chosen_files`] answers, with what is worth telling of it.
pub(super) fn choose(
    tree: &dyn Tree,
    file: &SkillFile,
) -> Result<(Chosen, Vec<Diagnostic>), Faults> {
    let mut chooser = Chooser { tree, files: BTreeMap::new(), diagnostics: Vec::new() };
    chooser.named(SkillPath::skill_file().as_str());
    match (&file.includes, file.dialect) {
        (Some(includes), _) => {
            for include in includes {
                chooser.include(include);
            }
        }
        (None, Dialect::Agent) => match ignore_rules(tree) {
            Ok(rules) => chooser.beneath("", &|path, name, is_directory| {
                let matched = rules.matched(Path::new(path), is_directory);
                if is_never_packed(name)
                    || matched.is_ignore()
                    || (is_dropping(name) && !matched.is_whitelist())
                {
                    Verdict::Leave
                } else {
                    Verdict::Take
                }
            }),
            Err(fault) => chooser.diagnostics.push(fault),
        },
        (None, Dialect::Hard) => {}
    }
    chooser.check_set();
    let Chooser { files, diagnostics, .. } = chooser;
    let (files, warnings) = Faults::check(files, diagnostics)?;
    Ok((files.into_values().collect(), warnings))
}

/// Reads `.skillignore`; a tree without one ignores nothing.
fn ignore_rules(tree: &dyn Tree) -> Result<Gitignore, Diagnostic> {
    let unreadable = |error: io::Error| cannot_read(IGNORE_FILE, &error);
    match tree.entry(IGNORE_FILE).map_err(unreadable)? {
        None => return Ok(Gitignore::empty()),
        Some(Entry::File { .. }) => {}
        Some(other) => return Err(not_a_file(IGNORE_FILE, other)),
    }
    let bytes = tree.read(IGNORE_FILE, MAX_IGNORE_BYTES).map_err(unreadable)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        Diagnostic::error("ignore_file", format!("`{IGNORE_FILE}` is not UTF-8"))
            .in_file(IGNORE_FILE)
    })?;
    let mut builder = GitignoreBuilder::new("");
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        builder.add_line(None, line).map_err(|error| {
            let message =
                format!("`{}` is no pattern: {}", escape(line), escape(&error.to_string()));
            Diagnostic::error("ignore_file", message).in_file(IGNORE_FILE).at_line(number + 1)
        })?;
    }
    builder.build().map_err(|error| {
        Diagnostic::error("ignore_file", escape(&error.to_string())).in_file(IGNORE_FILE)
    })
}

/// What is done with an entry.
#[derive(Debug, Clone, Copy)]
enum Verdict {
    Take,
    TakeAndTell,
    Leave,
    Refuse,
}

/// The verdict on an entry: its path, the last part of it, whether it is a directory.
type Judge<'a> = &'a dyn Fn(&str, &str, bool) -> Verdict;

/// `includes` is exact: what it names is packed, or is an error.
fn judge_included(_: &str, name: &str, _: bool) -> Verdict {
    if is_never_packed(name) {
        Verdict::Refuse
    } else if is_dropping(name) {
        Verdict::TakeAndTell
    } else {
        Verdict::Take
    }
}

struct Chooser<'a> {
    tree: &'a dyn Tree,
    files: BTreeMap<String, (SkillPath, Mode)>,
    diagnostics: Vec<Diagnostic>,
}

impl Chooser<'_> {
    /// Whether there is no point in looking further.
    fn is_full(&self) -> bool {
        self.files.len() > MAX_FILES || self.diagnostics.len() >= MAX_FAULTS
    }

    /// Takes what one of `includes` names.
    fn include(&mut self, include: &str) {
        if include == "." {
            self.beneath("", &judge_included);
        } else if include.split('/').any(is_never_packed) {
            self.diagnostics.push(never_packed(include));
        } else {
            self.named(include);
        }
    }

    /// Takes the file, or all of the directory, at `path`.
    fn named(&mut self, path: &str) {
        // Before the file system is asked, so that nothing outside is.
        if let Err(fault) = legal(path) {
            self.diagnostics.push(fault);
            return;
        }
        match self.tree.entry(path) {
            Ok(Some(Entry::File { executable, .. })) => self.file(path, executable),
            Ok(Some(Entry::Directory)) => self.included_directory(path),
            Ok(Some(other)) => self.diagnostics.push(not_a_file(path, other)),
            Ok(None) => self.diagnostics.push(
                Diagnostic::error("include_missing", format!("`{}` is not there", escape(path)))
                    .in_file(path)
                    .with_hint("put it there, or take it out of `includes`"),
            ),
            Err(error) => self.diagnostics.push(cannot_read(path, &error)),
        }
    }

    /// An archive carries files alone: a directory without any would be missing where it arrives.
    fn included_directory(&mut self, directory: &str) {
        let told = self.diagnostics.len();
        self.beneath(directory, &judge_included);
        let beneath = format!("{directory}/");
        let is_empty = !self.files.keys().any(|path| path.starts_with(&beneath));
        if is_empty && self.diagnostics.len() == told {
            let message = format!("the included directory `{}` holds no file", escape(directory));
            self.diagnostics.push(
                Diagnostic::error("include_empty", message)
                    .in_file("SKILL.md")
                    .with_hint("put a file in it, or take it out of `includes`"),
            );
        }
    }

    /// Takes every file beneath `directory` that is not left out.
    fn beneath(&mut self, directory: &str, judge: Judge<'_>) {
        let mut pending = vec![directory.to_owned()];
        while let Some(directory) = pending.pop() {
            let entries = match self.tree.list(&directory) {
                Ok(entries) => entries,
                Err(error) => {
                    self.diagnostics.push(cannot_list(&directory, &error));
                    continue;
                }
            };
            for (name, entry) in entries {
                if self.is_full() {
                    return;
                }
                let path =
                    if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
                match judge(&path, &name, entry == Entry::Directory) {
                    Verdict::Take => {}
                    Verdict::TakeAndTell => self.diagnostics.push(dropping_packed(&path)),
                    Verdict::Leave => continue,
                    Verdict::Refuse => {
                        self.diagnostics.push(never_packed(&path));
                        continue;
                    }
                }
                match entry {
                    Entry::File { executable, .. } => self.file(&path, executable),
                    Entry::Directory if path.split('/').count() >= MAX_PATH_DEPTH => {
                        let message = format!(
                            "`{}` is {MAX_PATH_DEPTH} directories deep, which is all that is packed",
                            escape(&path)
                        );
                        self.diagnostics.push(
                            Diagnostic::error("tree_too_deep", message).in_file(path).with_hint(
                                format!(
                                    "move what it holds higher up, or leave it out with \
                                     `{IGNORE_FILE}`"
                                ),
                            ),
                        );
                    }
                    Entry::Directory => pending.push(path),
                    Entry::Link | Entry::Special => {
                        self.diagnostics.push(not_a_file(&path, entry));
                    }
                }
            }
        }
    }

    fn file(&mut self, path: &str, executable: bool) {
        let chosen = legal(path).and_then(|legal| {
            let mode = mode_of(self.tree, path, executable)?;
            Ok((legal, mode))
        });
        match chosen {
            Ok(chosen) => {
                self.files.insert(path.to_owned(), chosen);
            }
            Err(fault) => self.diagnostics.push(fault),
        }
    }

    fn check_set(&mut self) {
        for (path, _) in self.files.values() {
            if let Some(character) = windows_refuses(path) {
                let message = format!(
                    "`{}` cannot be installed on Windows, where no name has `{character}`",
                    escape(path.as_str())
                );
                self.diagnostics.push(
                    Diagnostic::warning("file_name_windows", message)
                        .in_file(path.as_str())
                        .with_hint("rename it where the skill is for everybody"),
                );
            }
        }
        if self.files.len() > MAX_FILES {
            let message = format!("more than {MAX_FILES} files would be packed");
            self.diagnostics.push(
                Diagnostic::error("too_many_files", message)
                    .with_hint(format!("leave some out with `{IGNORE_FILE}`")),
            );
        } else if let Err(error) = check_path_set(self.files.values().map(|(path, _)| path)) {
            self.diagnostics.push(
                Diagnostic::error("paths_collide", error.to_string())
                    .with_hint(format!("rename one, or leave it out with `{IGNORE_FILE}`")),
            );
        }
    }
}

fn legal(path: &str) -> Result<SkillPath, Diagnostic> {
    let refused = |message: String| {
        let hint = match path.split('/').find(|part| part.len() > MAX_PATH_PART_BYTES) {
            Some(part) => format!(
                "shorten the name by {} of its {} bytes, here and where it is referred to, or leave \
                 it out with `{IGNORE_FILE}`",
                part.len() - MAX_PATH_PART_BYTES,
                part.len()
            ),
            None => format!("rename it, or leave it out with `{IGNORE_FILE}`"),
        };
        Diagnostic::error("file_name", message).in_file(path).with_hint(hint)
    };
    path.parse().map_err(|error: PathError| refused(error.to_string()))
}

/// Where files have no executable bit, a script says that it is one in its first two bytes.
fn mode_of(tree: &dyn Tree, path: &str, executable: bool) -> Result<Mode, Diagnostic> {
    if cfg!(unix) || executable {
        return Ok(Mode::of(executable));
    }
    let mut start = Vec::new();
    tree.open(path)
        .and_then(|file| io::Read::read_to_end(&mut io::Read::take(file, 2), &mut start))
        .map_err(|error| cannot_read(path, &error))?;
    Ok(Mode::of(start == b"#!"))
}

fn not_a_file(path: &str, entry: Entry) -> Diagnostic {
    let (code, what) = match entry {
        Entry::Link => ("file_is_link", "is a symbolic link, or lies behind one"),
        Entry::Directory => ("not_a_file", "is a directory"),
        _ => ("file_is_special", "is a device, a pipe or a socket"),
    };
    let message = format!("`{}` {what}; only regular files are packed", escape(path));
    Diagnostic::error(code, message).in_file(path).with_hint(format!(
        "put the file itself in its place, or leave it out with `{IGNORE_FILE}`"
    ))
}

fn never_packed(path: &str) -> Diagnostic {
    let message = format!("`includes` names `{}`, which is never packed", escape(path));
    Diagnostic::error("never_packed", message)
        .in_file(path)
        .with_hint("name in `includes` each file and directory to pack, without it")
}

fn dropping_packed(path: &str) -> Diagnostic {
    let message = format!("`{}` is packed, because `includes` names it", escape(path));
    Diagnostic::warning("dropping_packed", message).in_file(path)
}

pub(super) fn cannot_read(path: &str, error: &io::Error) -> Diagnostic {
    let message = format!("`{}` cannot be read: {}", escape(path), escape(&error.to_string()));
    let fault = Diagnostic::error("file_unreadable", message).in_file(path);
    Diagnostic { hint: reading_hint(error), ..fault }
}

fn cannot_list(directory: &str, error: &io::Error) -> Diagnostic {
    if let Some(name) = NameNotUtf8::of(error) {
        let path = name.within(directory);
        let message = format!("`{path}` cannot be packed: its name is not UTF-8");
        return Diagnostic::error("file_name", message).in_file(path).with_hint("rename it");
    }
    let shown = if directory.is_empty() { "." } else { directory };
    cannot_read(shown, error)
}

/// What to do about a file that cannot be read.
fn reading_hint(error: &io::Error) -> Option<String> {
    (error.kind() == io::ErrorKind::PermissionDenied)
        .then(|| format!("make it readable for your user, or leave it out with `{IGNORE_FILE}`"))
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::tree::MemoryTree;

    use super::*;

    fn skill(dialect: Dialect, includes: Option<&[&str]>) -> SkillFile {
        SkillFile {
            dialect,
            name: "sample".to_owned(),
            description: "A sample.".to_owned(),
            version: None,
            license: None,
            includes: includes.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            metadata: serde_json::Map::new(),
            rendered: String::new(),
            tools: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn tree(paths: &[&str]) -> MemoryTree {
        let mut tree = MemoryTree::default();
        tree.insert("SKILL.md", false, "");
        for path in paths {
            tree.insert(*path, false, "x");
        }
        tree
    }

    fn chosen(tree: &MemoryTree, skill: &SkillFile) -> Result<Vec<String>, Faults> {
        let files = chosen_files(tree, skill)?;
        Ok(files.into_iter().map(|(path, _)| path.to_string()).collect())
    }

    fn code(result: Result<Vec<String>, Faults>) -> String {
        result.unwrap_err().first().code.clone()
    }

    #[test]
    fn an_agent_skill_is_its_directory_less_what_tools_left() {
        let tree = tree(&[
            "a.py",
            ".hidden",
            ".git/config",
            "sub/.git/HEAD",
            "sub/b",
            "__pycache__/a.pyc",
            "a.pyc",
            "node_modules/x/y.js",
            ".DS_Store",
            "sample-1.0.0.skill.tar.zst",
        ]);
        let skill = skill(Dialect::Agent, None);
        assert_eq!(chosen(&tree, &skill).unwrap(), [".hidden", "SKILL.md", "a.py", "sub/b"]);
    }

    #[test]
    fn the_ignore_file_leaves_out_and_takes_back() {
        let mut tree = tree(&["a.log", "keep.log", "build/x", "deep/build/y", "node_modules/z"]);
        tree.insert(
            ".skillignore",
            false,
            "# logs\n*.log\n!keep.log\n/build/\n!node_modules\n.skillignore\nSKILL.md\n",
        );
        let skill = skill(Dialect::Agent, None);
        let wanted = ["SKILL.md", "deep/build/y", "keep.log", "node_modules/z"];
        assert_eq!(chosen(&tree, &skill).unwrap(), wanted);
    }

    #[test]
    fn a_bad_pattern_is_told_with_its_line() {
        let mut tree = tree(&[]);
        tree.insert(".skillignore", false, "ok\n[z-a]\n");
        let faults = chosen(&tree, &skill(Dialect::Agent, None)).unwrap_err();
        assert_eq!((faults.first().code.as_str(), faults.first().line), ("ignore_file", Some(2)));
    }

    #[test]
    fn what_windows_cannot_hold_is_warned_of_and_a_long_name_is_told_by_how_much() {
        for name in ["a?b.md", "sub/a*b.md", "a<b", "a>b", "a|b", "a\"b", "d*/x"] {
            let (files, warnings) = choose(&tree(&[name]), &skill(Dialect::Agent, None)).unwrap();
            assert_eq!(
                (files.len(), warnings[0].code.as_str()),
                (2, "file_name_windows"),
                "{name}"
            );
        }
        let faults = chosen(&tree(&[&"x".repeat(117)]), &skill(Dialect::Agent, None)).unwrap_err();
        let hint = faults.first().hint.clone().unwrap_or_default();
        assert!(hint.starts_with("shorten the name by 17 of its 117 bytes"), "{hint}");
    }

    #[test]
    fn includes_are_exact() {
        let tree = tree(&["a", "b", "d/x", "d/.hidden", "d/e/y", "data.d/x"]);
        for (includes, wanted) in [
            (&[][..], &["SKILL.md"][..]),
            (&["a"], &["SKILL.md", "a"]),
            (&["d", "d/x", "a"], &["SKILL.md", "a", "d/.hidden", "d/e/y", "d/x"]),
            (&["."], &["SKILL.md", "a", "b", "d/.hidden", "d/e/y", "d/x", "data.d/x"]),
        ] {
            for dialect in [Dialect::Hard, Dialect::Agent] {
                assert_eq!(chosen(&tree, &skill(dialect, Some(includes))).unwrap(), wanted);
            }
        }
        assert_eq!(chosen(&tree, &skill(Dialect::Hard, None)).unwrap(), ["SKILL.md"]);
    }

    #[test]
    fn an_include_that_cannot_be_packed_is_an_error() {
        let tree = tree(&["a", ".git/config", "d/.git/x"]);
        for (include, wanted) in [
            ("absent", "include_missing"),
            ("../x", "file_name"),
            ("/etc/passwd", "file_name"),
            (".git/config", "never_packed"),
            ("d", "never_packed"),
            (".", "never_packed"),
        ] {
            let result = chosen(&tree, &skill(Dialect::Hard, Some(&[include])));
            assert_eq!(code(result), wanted, "{include}");
        }
    }

    #[test]
    fn a_dropping_that_includes_names_is_packed_with_a_warning() {
        let tree = tree(&["d/a.pyc"]);
        let (files, warnings) = choose(&tree, &skill(Dialect::Hard, Some(&["d"]))).unwrap();
        assert_eq!((files.len(), warnings[0].code.as_str()), (2, "dropping_packed"));
    }

    #[test]
    fn paths_that_some_system_cannot_hold_are_refused_and_named_safely() {
        let skill = skill(Dialect::Agent, None);
        for (paths, wanted) in [
            (&["a\\b"][..], "file_name"),
            (&["con.md"], "file_name"),
            (&["\u{1b}[31mx\u{202e}"], "file_name"),
            (&["e\u{301}"], "file_name"),
            (&["README", "readme"], "paths_collide"),
        ] {
            let faults = chosen(&tree(paths), &skill).unwrap_err();
            assert_eq!(faults.first().code, wanted, "{paths:?}");
            assert!(!faults.to_string().contains(['\u{1b}', '\u{202e}']));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_not_utf_8_is_told_with_its_path() {
        use std::os::unix::ffi::OsStrExt as _;
        let directory = tempfile::tempdir().unwrap();
        let notes = directory.path().join("notes");
        std::fs::create_dir(&notes).unwrap();
        std::fs::write(directory.path().join("SKILL.md"), "").unwrap();
        std::fs::write(notes.join(std::ffi::OsStr::from_bytes(b"f\xff.txt")), "").unwrap();
        let tree = skillpkg_schema::tree::DirectoryTree::open(directory.path()).unwrap();
        let faults = chosen_files(&tree, &skill(Dialect::Agent, None)).unwrap_err();
        let fault = faults.first();
        assert_eq!(fault.message, "`notes/f\\xff.txt` cannot be packed: its name is not UTF-8");
        assert_eq!((fault.code.as_str(), fault.hint.as_deref()), ("file_name", Some("rename it")));
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let skill = skill(Dialect::Agent, None);
        let deepest = format!("{}x", "d/".repeat(15));
        assert!(chosen(&tree(&[&deepest]), &skill).is_ok());
        let deeper = format!("{}x", "d/".repeat(16));
        let faults = chosen(&tree(&[&deeper]), &skill).unwrap_err();
        assert_eq!(faults.first().code, "tree_too_deep");
        assert!(faults.first().hint.as_ref().unwrap().contains("higher up"));
        let many: Vec<String> = (0..=MAX_FILES).map(|number| format!("f{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(code(chosen(&tree(&many), &skill)), "too_many_files");
        assert!(chosen(&tree(&many[..MAX_FILES - 1]), &skill).is_ok());
    }
}
