//! A package of APM that is one skill.

use std::io::{self, BufReader, Read, Seek};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{SkillName, Version};

use super::{Intake, refused};
use crate::faces::frontmatter;
use crate::faces::unzip::{Bounds, UnzipError, unzip};
use crate::problem::{Answer, Refusal};

/// What describes a package.
const PACKAGE_FILE: &str = "apm.yml";
/// Most bytes of it.
const MAX_PACKAGE_FILE: u64 = 64 * 1024;
/// Where the skills of a package lie.
const SKILLS: &str = ".apm/skills/";
/// What `apm publish` sends beside, and what is left out.
const BESIDE: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE", "LICENCE"];

/// Lays out the one skill of a package; refuses a package that is more, or is not what it was sent as.
///
/// What else a package can hold would be run or read by a client without being part of the skill:
/// hooks, servers, agents, instructions. So it is refused, and not left out.
pub(crate) fn unpack(
    package: impl Read + Seek,
    name: &SkillName,
    version: &Version,
    intake: &mut Intake,
) -> Answer<()> {
    let mut reading = Reading { intake, name, package_file: None, skill: None, refusal: None };
    let read =
        unzip(&mut BufReader::new(package), Bounds::default(), &mut |path, mode, content| {
            reading.take(path, mode, content)
        });
    let Reading { package_file, skill, refusal, .. } = reading;
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    match read {
        Ok(()) => {}
        Err(UnzipError::Io(error)) => return Err(error.into()),
        Err(error) => return Err(refused("package_refused", error.to_string())),
    }
    let Some(package_file) = package_file else {
        return Err(refused("package_refused", format!("the package has no `{PACKAGE_FILE}`")));
    };
    if skill.is_none() {
        let detail = format!("the package has no skill in `{SKILLS}{name}/`");
        return Err(refused("package_refused", detail));
    }
    let said = frontmatter::scalar(&package_file, "version");
    if said.as_deref().and_then(|said| said.parse().ok()).as_ref() != Some(version) {
        let said = said.map_or_else(|| "none".to_owned(), |said| format!("`{}`", escape(&said)));
        let detail = format!(
            "`{PACKAGE_FILE}` says version {said}, and it was sent as {version}: make them agree"
        );
        return Err(refused("version_mismatch", detail));
    }
    Ok(())
}

struct Reading<'r> {
    intake: &'r mut Intake,
    name: &'r SkillName,
    package_file: Option<String>,
    skill: Option<String>,
    refusal: Option<Refusal>,
}

impl Reading<'_> {
    fn take(&mut self, path: &str, executable: bool, content: &mut dyn Read) -> io::Result<()> {
        self.file(path, executable, content).map_err(|refusal| {
            self.refusal = Some(refusal);
            io::Error::other("refused")
        })
    }

    fn file(&mut self, path: &str, executable: bool, content: &mut dyn Read) -> Answer<()> {
        if path == PACKAGE_FILE {
            let mut text = String::new();
            content.take(MAX_PACKAGE_FILE + 1).read_to_string(&mut text).map_err(|_| {
                refused("package_refused", format!("`{PACKAGE_FILE}` is not UTF-8, or too long"))
            })?;
            self.package_file = Some(text);
            return Ok(());
        }
        if BESIDE.contains(&path) {
            io::copy(content, &mut io::sink())?;
            return Ok(());
        }
        let Some((skill, file)) = path.strip_prefix(SKILLS).and_then(|rest| rest.split_once('/'))
        else {
            let detail = format!(
                "`{}` in the package is no part of a skill: a package here is one skill in \
                 `{SKILLS}{}/`, with an `{PACKAGE_FILE}`",
                escape(path),
                self.name
            );
            return Err(refused("package_refused", detail));
        };
        if skill != self.name.as_str() {
            let detail = format!(
                "the package holds the skill `{}`, and was sent as `{}`: it is one skill of that \
                 name, and no other",
                escape(skill),
                self.name
            );
            return Err(refused("package_refused", detail));
        }
        self.skill = Some(skill.to_owned());
        let mut place = self.intake.place(file, executable)?;
        io::copy(content, &mut place)?;
        Ok(())
    }
}
