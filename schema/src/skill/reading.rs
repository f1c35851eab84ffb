//! A whole skill, read from its files.

use std::collections::BTreeMap;

use super::content::Reference;
use super::files::{self, Packed, PackedTree};
use super::missing::missing_skill_file;
use super::parse::{Located, Refused, name_required, parse_located, with_name_required};
use super::report::Report;
use super::requires::Requirements;
use super::{Rules, Skill, SkillFile, includes, programs};
use crate::capability::{self, Capabilities};
use crate::diagnostic::{Diagnostic, Faults, escape};
use crate::limits::MAX_SKILL_FILE_BYTES;
use crate::path::SkillPath;
use crate::tree::{Entry, Tree};

/// What messages call the skill's own file.
const SKILL_FILE: &str = "SKILL.md";
/// Most tools that a message names.
const MOST_NAMED: usize = 5;

impl Skill {
    /// Reads the skill in `tree`.
    ///
    /// Checks what only the files can tell: that includes are there and hold no link, that programs
    /// with a relative path are among the files, that resources and scripts are, that no two
    /// capabilities share a name. Only files that are packed have a say, so that the skill reads
    /// the same from its archive; of an Agent Skill without `includes` that is all of `tree`.
    pub fn read(tree: &dyn Tree, rules: Rules) -> Result<Self, Faults> {
        let skill = Self::read_unnamed(tree, rules).map_err(with_name_required)?;
        name_required(&skill.warnings)?;
        Ok(skill)
    }

    /// As [`Skill::read`], and takes a skill without a name, with a warning `name_missing`: for one
    /// that has its name from its manifest or whoever packs it.
    pub fn read_unnamed(tree: &dyn Tree, rules: Rules) -> Result<Self, Faults> {
        let mut report = Report::new(SKILL_FILE);
        let located = match parse_located(&skill_file(tree)?, SKILL_FILE) {
            Ok(located) => located,
            Err(Refused { faults, includes }) => {
                // What the file says wrongly hides none of what is not there.
                report.extend(faults.into_diagnostics());
                files::included(tree, &includes, &mut report);
                return Err(report.into_faults());
            }
        };
        let Located { file, includes, references } = located;
        for warning in &file.warnings {
            report.add(warning.clone());
        }
        let included = files::included(tree, includes.as_deref().unwrap_or_default(), &mut report);
        let packed = Packed::new(file.dialect, includes.as_deref(), &included);
        let packed = PackedTree { tree, packed: &packed };
        warn_of_left_out_capabilities(tree, &packed, &mut report);
        // What is missing already would be missed again by whatever refers to it.
        if report.has_errors() {
            return Err(report.into_faults());
        }
        check_programs(&file, &packed, &mut report);
        check_references(&references, &packed, &mut report);
        let capabilities = match capability::read(&packed, rules) {
            Ok((capabilities, warnings)) => {
                report.extend(warnings);
                capabilities
            }
            Err(faults) => {
                report.extend(faults.into_diagnostics());
                return Err(report.into_faults());
            }
        };
        check_names(&file, &capabilities, &mut report);
        let requirements = Requirements::read(&file.metadata);
        warn_of_requirements(&requirements, &mut report);
        let ((), warnings) = report.check(())?;
        Ok(Self {
            requires: requirements.requires,
            file,
            included: included.into_iter().collect(),
            capabilities,
            warnings,
        })
    }
}

/// Whoever judges by requirements cannot judge by these.
fn warn_of_requirements(requirements: &Requirements, report: &mut Report<'_>) {
    for one in &requirements.unreadable {
        report.add(Diagnostic::warning("requirement_unreadable", one.to_string()).with_hint(
            "as it is, hosts cannot tell whether the skill works on a machine, and leave it out",
        ));
    }
}

fn skill_file(tree: &dyn Tree) -> Result<Vec<u8>, Faults> {
    let refuse = |code, message: &str| {
        let message = format!("`{SKILL_FILE}` {message}");
        Faults::from(Diagnostic::error(code, message).in_file(SKILL_FILE))
    };
    let unreadable = |error: std::io::Error| {
        refuse("file_unreadable", &format!("cannot be read: {}", escape(&error.to_string())))
    };
    match tree.entry(SKILL_FILE).map_err(unreadable)? {
        Some(Entry::File { .. }) => tree.read(SKILL_FILE, MAX_SKILL_FILE_BYTES).map_err(unreadable),
        Some(Entry::Link) => {
            Err(refuse("file_is_link", "is a symbolic link; put the file itself there"))
        }
        Some(Entry::Directory | Entry::Special) => {
            Err(refuse("skill_file_missing", "is not a file"))
        }
        None => Err(missing_skill_file(tree).into()),
    }
}

fn warn_of_left_out_capabilities(
    tree: &dyn Tree,
    packed: &PackedTree<'_>,
    report: &mut Report<'_>,
) {
    let declared = SkillPath::capability_file();
    let stands_in = |tree: &dyn Tree| matches!(tree.entry(declared.as_str()), Ok(Some(_)));
    if stands_in(tree) && !stands_in(packed) {
        report.add(
            Diagnostic::warning(
                "capability_file_not_packed",
                "`skill.json` is not packed, so the resources and scripts in it are not read",
            )
            .with_hint("name `skill.json`, and the files it names, in `includes`"),
        );
    }
}

/// Programs with a path: a relative one is a packed file, an absolute one does not travel.
fn check_programs(file: &SkillFile, packed: &dyn Tree, report: &mut Report<'_>) {
    let lines: BTreeMap<&str, usize> =
        file.tools.iter().map(|tool| (tool.id.as_str(), tool.line)).collect();
    for program in programs(&file.tools).iter().filter(|program| !program.dynamic) {
        let first = program.tools.first().and_then(|id| lines.get(id.as_str()));
        let line = first.copied().unwrap_or(1);
        let tools: Vec<String> =
            program.tools.iter().take(MOST_NAMED).map(|id| format!("`{}`", escape(id))).collect();
        let whose = format!("tool {}", tools.join(", "));
        let name = escape(&program.name);
        if program.name.starts_with('/') {
            report.add(
                Diagnostic::warning(
                    "program_absolute",
                    format!(
                        "{whose}: the program `{name}` is a path of one machine; it does not travel"
                    ),
                )
                .at_line(line)
                .with_hint(
                    "name the program alone, which is looked up on PATH, or pack it with the skill",
                ),
            );
        } else if program.name.contains('/')
            && let Some(diagnostic) = packed_program(&program.name, &whose, packed)
        {
            report.add(diagnostic.at_line(line));
        }
    }
}

/// What is wrong with a program that is looked up among the skill's files.
fn packed_program(name: &str, whose: &str, packed: &dyn Tree) -> Option<Diagnostic> {
    let shown = escape(name);
    let entry = includes::normalize(name)
        .ok()
        .filter(|path| path.parse::<SkillPath>().is_ok())
        .and_then(|path| packed.entry(&path).ok()?);
    match entry {
        Some(Entry::File { executable: true, .. }) => None,
        Some(Entry::File { executable: false, .. }) => Some(
            Diagnostic::warning(
                "program_not_executable",
                format!("{whose}: the program `{shown}` is not executable"),
            )
            .with_hint(format!("run `chmod +x {shown}`, or start it through its interpreter")),
        ),
        _ => Some(
            Diagnostic::error(
                "program_missing",
                format!("{whose}: the program `{shown}` is not among the skill's files"),
            )
            .with_hint(
                "a relative path is looked up in the skill: put the file there, and name it in \
                 `includes` where the skill has any",
            ),
        ),
    }
}

/// The files that the prose refers to are packed.
fn check_references(references: &[Reference], packed: &dyn Tree, report: &mut Report<'_>) {
    for Reference { path, place } in references {
        let shown = escape(path);
        let fault = match includes::normalize(path) {
            Ok(path) if path == "." => continue,
            Ok(path) if path.parse::<SkillPath>().is_err() => "is no file a skill can have",
            Ok(path) => match packed.entry(&path) {
                Ok(None) => "is not among the skill's files",
                _ => continue,
            },
            Err(_) => "is outside the skill",
        };
        report.at(
            *place,
            Diagnostic::warning(
                "reference_missing",
                format!("the link to `{shown}` leads nowhere: it {fault}"),
            )
            .with_hint(
                "put the file into the skill, and name it in `includes` where the skill has any",
            ),
        );
    }
}

/// Tools, resources and scripts share one name space.
fn check_names(file: &SkillFile, capabilities: &Capabilities, report: &mut Report<'_>) {
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
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for (name, what) in tools.chain(resources).chain(scripts) {
        if let Some(other) = names.get(name) {
            let name = escape(name);
            let message =
                format!("two capabilities are called `{name}`: the {other} and the {what}");
            report.add(
                Diagnostic::error("capability_name", message)
                    .with_hint("rename one: tools, resources and scripts share one name space"),
            );
        } else {
            names.insert(name, what);
        }
    }
}
