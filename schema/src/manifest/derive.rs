//! A manifest made from the files of a skill: what packing writes, and what whoever verifies makes
//! again and compares.

use super::{FileEntry, MANIFEST_SCHEMA, Manifest, ResourceEntry, ScriptEntry, ToolEntry};
use crate::diagnostic::{Diagnostic, Faults};
use crate::difference;
use crate::name::QualifiedName;
use crate::path::SkillPath;
use crate::skill::{Dialect, Rules, Skill, programs};
use crate::tree::Tree;
use crate::version::Version;

/// What a skill is published as: the part of a manifest that files alone do not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The whole name.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
}

/// A manifest and the warnings met while making it.
#[derive(Debug, Clone)]
pub struct Derived {
    /// The manifest.
    pub manifest: Manifest,
    /// The skill it was made from.
    pub skill: Skill,
    /// What is worth telling, though nothing is refused for it.
    pub warnings: Vec<Diagnostic>,
}

/// Derives the manifest of the skill in `tree` with exactly `files`, published as `identity`.
///
/// The files' digests are taken as given: whoever calls has hashed them. Everything else is read
/// from the tree: `SKILL.md`, `skill.json` and the contracts it refers to.
pub fn derive(
    tree: &dyn Tree,
    files: Vec<FileEntry>,
    identity: &Identity,
    rules: Rules,
) -> Result<Derived, Faults> {
    let skill = Skill::read_unnamed(tree, rules)?;
    let file = &skill.file;
    let manifest = Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        name: identity.name.clone(),
        version: identity.version.clone(),
        description: file.description.clone(),
        license: file.license.clone(),
        dialect: file.dialect,
        files,
        tools: file
            .tools
            .iter()
            .map(|tool| ToolEntry {
                id: tool.id.clone(),
                description: tool.description.clone(),
                run: tool.run.words().map(str::to_owned).collect(),
                schema: tool.schema().canonical(),
            })
            .collect(),
        resources: skill
            .capabilities
            .resources
            .iter()
            .map(|resource| ResourceEntry {
                name: resource.name.clone(),
                description: resource.description.clone(),
                path: resource.path.clone(),
            })
            .collect(),
        scripts: skill
            .capabilities
            .scripts
            .iter()
            .map(|script| ScriptEntry {
                name: script.name.clone(),
                description: script.description.clone(),
                path: script.path.clone(),
                runtime: script.runtime.clone(),
                contract: script.contract.canonical().to_owned(),
                fingerprint: script.contract.fingerprint(),
                requires_permission: script.requires_permission,
                timeout_seconds: script.timeout.as_secs(),
                maximum_output_bytes: script.maximum_output_bytes,
            })
            .collect(),
        programs: programs(&file.tools),
        requires: skill.requires.clone(),
        metadata: file.metadata.clone(),
    };
    manifest
        .check_files()
        .map_err(|error| Diagnostic::error("manifest_refused", error.to_string()))?;
    let warnings = skill.warnings.clone();
    Ok(Derived { manifest, skill, warnings })
}

/// Derives the manifest again from the files in `tree`, and compares it with `manifest`.
///
/// Files and identity are the manifest's own: whoever calls has hashed the files. Every other field
/// that the files do not say is an error of code `manifest_mismatch` that names it, so that no
/// manifest can claim a tool, a script or a permission that its files do not have. So is, of code
/// `file_not_included`, each file that `includes` does not name.
pub fn verify_derived(tree: &dyn Tree, manifest: &Manifest) -> Result<Derived, Faults> {
    let identity = Identity { name: manifest.name.clone(), version: manifest.version.clone() };
    let derived = derive(tree, manifest.files.clone(), &identity, Rules::Strict)?;
    let mut faults = mismatches(manifest, &derived.manifest)?;
    faults.extend(strays(manifest, &derived.skill));
    let (derived, _) = Faults::check(derived, faults)?;
    Ok(derived)
}

/// The files that nothing in `SKILL.md` brings along.
///
/// Who reads `includes` knows every file that travels; an archive made by other means must not
/// carry more.
fn strays(manifest: &Manifest, skill: &Skill) -> Vec<Diagnostic> {
    if skill.file.dialect == Dialect::Agent && skill.file.includes.is_none() {
        return Vec::new();
    }
    let is_stray = |file: &&FileEntry| {
        file.path != SkillPath::skill_file() && skill.included.binary_search(&file.path).is_err()
    };
    let stray = |file: &FileEntry| {
        let message = format!("`{}` is packed, and no `includes` names it", file.path);
        Diagnostic::error("file_not_included", message).in_file(file.path.as_str())
    };
    manifest.files.iter().filter(is_stray).map(stray).collect()
}

fn mismatches(claimed: &Manifest, derived: &Manifest) -> Result<Vec<Diagnostic>, Diagnostic> {
    if claimed == derived {
        return Ok(Vec::new());
    }
    let fields = |manifest: &Manifest| match serde_json::to_value(manifest) {
        Ok(serde_json::Value::Object(fields)) => Ok(fields),
        _ => Err(Diagnostic::error("manifest_refused", "the manifest cannot be written as JSON")),
    };
    let (claimed, derived) = (fields(claimed)?, fields(derived)?);
    let mut names: Vec<&String> = claimed.keys().chain(derived.keys()).collect();
    names.sort();
    names.dedup();
    let mismatch = |name: &String| {
        let found = difference::first(claimed.get(name), derived.get(name))?;
        let said = found.said("the manifest", "the files");
        let message = format!("the manifest's `{name}` differs from its files: {said}");
        Some(Diagnostic::error("manifest_mismatch", message))
    };
    Ok(names.into_iter().filter_map(mismatch).collect())
}
