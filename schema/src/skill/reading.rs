//! A whole skill, read from its files.

use std::collections::{BTreeMap, BTreeSet};

use super::packing::{self, Files, PackedTree};
use super::report::Report;
use super::requires::requires;
use super::{Located, Rules, Skill, SkillFile, parse_located, programs};
use crate::capability::{self, Capabilities};
use crate::diagnostic::{Diagnostic, Faults, escape};
use crate::limits::MAX_SKILL_FILE_BYTES;
use crate::path::SkillPath;
use crate::tree::{Entry, Tree};

/// What messages call the skill's own file.
const SKILL_FILE: &str = "SKILL.md";

impl Skill {
    /// Reads the skill in `tree`.
    ///
    /// Checks what only the files can tell: that includes are there and hold no link, that programs
    /// with a relative path are among the files, that resources and scripts are, that no two
    /// capabilities share a name. Only files that are packed have a say, so that the skill reads
    /// the same from its archive.
    pub fn read(tree: &dyn Tree, rules: Rules) -> Result<Self, Faults> {
        let bytes = skill_file(tree)?;
        let Located { file, includes } = parse_located(&bytes, SKILL_FILE)?;
        let mut report = Report::new(SKILL_FILE);
        let files = packing::files(tree, file.dialect, includes.as_deref(), &mut report);
        if !report.has_errors() {
            check_programs(&file, tree, &files, &mut report);
        }
        let read = capabilities(tree, &files, rules, &mut report);
        let (capabilities, mut warnings) = match read {
            Ok(read) => read,
            // What is wrong with the files comes first: the rest often follows from it.
            Err(faults) => {
                let ((), mut told) = report.check(())?;
                told.extend(faults.into_diagnostics());
                return Faults::check((), told).and_then(|_| Err(not_read()));
            }
        };
        check_names(&file, &capabilities, &mut report);
        let ((), told) = report.check(())?;
        let mut all = file.warnings.clone();
        all.extend(told);
        all.append(&mut warnings);
        Ok(Self {
            requires: requires(&file.metadata),
            file,
            included: files.included.into_iter().collect(),
            packed: files.packed.into_iter().collect(),
            capabilities,
            warnings: all,
        })
    }
}

fn not_read() -> Faults {
    Diagnostic::error("not_read", "the skill could not be read").into()
}

fn skill_file(tree: &dyn Tree) -> Result<Vec<u8>, Faults> {
    let refuse =
        |code, message: String| Faults::from(Diagnostic::error(code, message).in_file(SKILL_FILE));
    let unreadable = |error: std::io::Error| {
        refuse(
            "file_unreadable",
            format!("`{SKILL_FILE}` cannot be read: {}", escape(&error.to_string())),
        )
    };
    match tree.entry(SKILL_FILE).map_err(unreadable)? {
        Some(Entry::File { .. }) => tree.read(SKILL_FILE, MAX_SKILL_FILE_BYTES).map_err(unreadable),
        Some(Entry::Link) => Err(refuse(
            "file_is_link",
            format!("`{SKILL_FILE}` is a symbolic link; put the file itself there"),
        )),
        Some(Entry::Directory | Entry::Special) => {
            Err(refuse("skill_file_missing", format!("`{SKILL_FILE}` is not a file")))
        }
        None => Err(refuse(
            "skill_file_missing",
            format!("there is no `{SKILL_FILE}` in the directory, in just this spelling"),
        )),
    }
}

fn capabilities(
    tree: &dyn Tree,
    files: &Files,
    rules: Rules,
    report: &mut Report<'_>,
) -> Result<(Capabilities, Vec<Diagnostic>), Faults> {
    let declared = SkillPath::capability_file();
    let is_packed = files.packed.contains(&declared);
    if !is_packed && matches!(tree.entry(declared.as_str()), Ok(Some(_))) {
        report.add(
            Diagnostic::warning(
                "capability_file_not_packed",
                "`skill.json` is not packed, so the resources and scripts in it are not read",
            )
            .with_hint("add `skill.json`, and the files it names, to `includes`"),
        );
    }
    if !is_packed && rules == Rules::Strict {
        return Ok((Capabilities::default(), Vec::new()));
    }
    capability::read(&PackedTree { tree, files: &files.packed }, rules)
}

/// Programs with a path: a relative one is a packed file, an absolute one does not travel.
fn check_programs(file: &SkillFile, tree: &dyn Tree, files: &Files, report: &mut Report<'_>) {
    for program in programs(&file.tools).iter().filter(|program| !program.dynamic) {
        let line = file
            .tools
            .iter()
            .find(|tool| program.tools.contains(&tool.id))
            .map_or(1, |tool| tool.line);
        let name = escape(&program.name);
        let tools: Vec<String> =
            program.tools.iter().take(5).map(|id| format!("`{}`", escape(id))).collect();
        let whose = format!("tool {}", tools.join(", "));
        if program.name.starts_with('/') {
            report.add(
                Diagnostic::warning(
                    "program_absolute",
                    format!("{whose}: the program `{name}` is a path of this machine; it does not travel"),
                )
                .at_line(line)
                .with_hint("name the program alone, so that it is looked up on PATH, or pack it with the skill"),
            );
        } else if program.name.contains('/') {
            check_packed_program(&program.name, &whose, line, tree, &files.packed, report);
        }
    }
}

fn check_packed_program(
    name: &str,
    whose: &str,
    line: usize,
    tree: &dyn Tree,
    packed: &BTreeSet<SkillPath>,
    report: &mut Report<'_>,
) {
    let path =
        super::includes::normalize(name).ok().and_then(|path| path.parse::<SkillPath>().ok());
    let shown = escape(name);
    match path.filter(|path| packed.contains(path)) {
        None => report.add(
            Diagnostic::error(
                "program_missing",
                format!("{whose}: the program `{shown}` is not among the skill's files"),
            )
            .at_line(line)
            .with_hint("a relative path is looked up in the skill: put the file there and name it in `includes`"),
        ),
        Some(path) => {
            if matches!(tree.entry(path.as_str()), Ok(Some(Entry::File { executable: false, .. }))) {
                report.add(
                    Diagnostic::warning(
                        "program_not_executable",
                        format!("{whose}: the program `{shown}` is not executable"),
                    )
                    .at_line(line)
                    .with_hint(format!("run `chmod +x {shown}`, or start it through its interpreter")),
                );
            }
        }
    }
}

/// Tools, resources and scripts share one name space.
fn check_names(file: &SkillFile, capabilities: &Capabilities, report: &mut Report<'_>) {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let tools =
        file.tools.iter().map(|tool| (tool.id.as_str(), format!("tool on line {}", tool.line)));
    let resources = capabilities
        .resources
        .iter()
        .map(|one| (one.name.as_str(), format!("resource `{}`", one.path.as_str())));
    let scripts = capabilities
        .scripts
        .iter()
        .map(|one| (one.name.as_str(), format!("script `{}`", one.path.as_str())));
    for (name, what) in tools.chain(resources).chain(scripts) {
        if let Some(other) = names.get(name) {
            let message = format!(
                "two capabilities are called `{}`: the {other} and the {what}",
                escape(name)
            );
            report.add(
                Diagnostic::error("capability_name", message)
                    .with_hint("rename one: tools, resources and scripts share one name space"),
            );
        } else {
            names.insert(name, what);
        }
    }
}
