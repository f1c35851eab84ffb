//! Reads and writes `skillpkg.lock`: what a project got, exactly.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use skillpkg_schema::address::Algorithm;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{ContentAddress, Faults, QualifiedName};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{Reading, Span};
use super::file::{check_file, read_registry};
use super::{LOCK_FILE, LOCK_VERSION, Locked, MAX_PROJECT_SKILLS, Source};
use crate::settings::registry_text;

const HEADER: &str = "\
# Written by skillpkg: exactly which snapshots this project has. Keep it under version control.
# `skillpkg sync` makes the project what it says.
";
const TOP_KEYS: [&str; 2] = ["version", "skill"];
const ENTRY_KEYS: [&str; 8] =
    ["name", "version", "registry", "file", "address", "archive", "key", "log-index"];
const RESTORING: &str = "restore it (`git checkout -- skillpkg.lock`), or remove it and run \
                         `skillpkg sync`, which resolves every skill anew";
const CONFLICT: &str = "keep either side of it (`git checkout --ours skillpkg.lock`), then run \
                        `skillpkg sync`, which resolves what is missing and keeps the rest";

/// What a project got, and the fields of later versions that this one only carries along.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockFile {
    /// By the text of the name, in whose order they are written.
    skills: BTreeMap<String, Locked>,
    unknown: toml::Table,
    unknown_of_skills: BTreeMap<String, toml::Table>,
}

impl LockFile {
    /// Reads the text of the file. Line ends may be CRLF.
    ///
    /// Refuses an entry without an address, an archive or a key whatever command asks: what is not
    /// bound to bytes and a signer is not locked.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let mut reading = Reading::new(text, LOCK_FILE, "lock_invalid");
        let table = reading.table(CONFLICT, Some(RESTORING))?;
        check_version(&mut reading, &table);
        let mut lock = Self::default();
        let mut has_unknown = table.keys().any(|key| !TOP_KEYS.contains(&key.get_ref().as_ref()));
        match table.get("skill").map(Spanned::get_ref) {
            None => {}
            Some(DeValue::Array(entries)) if entries.len() > MAX_PROJECT_SKILLS => {
                let span = table.get("skill").map_or(0..0, Spanned::span);
                let (found, most) = (entries.len(), MAX_PROJECT_SKILLS);
                reading.fault(span, format!("{found} skills are over {most}"));
            }
            Some(DeValue::Array(entries)) => {
                for entry in entries {
                    let DeValue::Table(fields) = entry.get_ref() else {
                        reading
                            .fault(entry.span(), "`skill` must be a list of tables: `[[skill]]`");
                        continue;
                    };
                    has_unknown |=
                        fields.keys().any(|key| !ENTRY_KEYS.contains(&key.get_ref().as_ref()));
                    lock.add(&mut reading, entry.span(), fields);
                }
            }
            Some(_) => {
                let span = table.get("skill").map_or(0..0, Spanned::span);
                reading.fault(span, "`skill` must be a list of tables: `[[skill]]`");
            }
        }
        let (mut lock, _) = reading.finish(lock)?;
        if has_unknown {
            lock.keep_unknown(text);
        }
        Ok(lock)
    }

    fn add(&mut self, reading: &mut Reading<'_>, span: Span, fields: &DeTable<'_>) {
        let Some(locked) = read_entry(reading, span.clone(), fields) else { return };
        let name = locked.name.to_string();
        if self.skills.insert(name.clone(), locked).is_some() {
            reading.fault(span, format!("`{name}` is there twice"));
        }
    }

    /// Takes every field that this version does not know out of `text`, which has been read.
    fn keep_unknown(&mut self, text: &str) {
        let Ok(mut table) = toml::from_str::<toml::Table>(text) else { return };
        let entries = table.remove("skill");
        table.remove("version");
        self.unknown = table;
        let entries = entries.as_ref().and_then(toml::Value::as_array);
        for entry in entries.into_iter().flatten().filter_map(toml::Value::as_table) {
            let name = entry.get("name").and_then(toml::Value::as_str);
            let Some(name) = name else { continue };
            let mut unknown = entry.clone();
            unknown.retain(|key, _| !ENTRY_KEYS.contains(&key));
            if !unknown.is_empty() {
                self.unknown_of_skills.insert(name.to_owned(), unknown);
            }
        }
    }

    /// The skills, sorted by name.
    pub fn skills(&self) -> impl Iterator<Item = &Locked> {
        self.skills.values()
    }

    /// The entry of `name`.
    pub fn skill(&self, name: &QualifiedName) -> Option<&Locked> {
        self.skills.get(&name.to_string())
    }

    /// Puts an entry in, in place of the one of the same name.
    pub fn insert(&mut self, locked: Locked) {
        self.skills.insert(locked.name.to_string(), locked);
    }

    /// Takes the entry of `name` out.
    pub fn remove(&mut self, name: &QualifiedName) -> Option<Locked> {
        let name = name.to_string();
        self.unknown_of_skills.remove(&name);
        self.skills.remove(&name)
    }

    /// The text of the file: the same for the same entries, whatever order they came in.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}version = {LOCK_VERSION}\n");
        write_unknown(&mut text, &self.unknown);
        for (name, locked) in &self.skills {
            text.push_str("\n[[skill]]\n");
            field(&mut text, "name", name.as_str());
            field(&mut text, "version", locked.version.to_string());
            match &locked.source {
                Source::Registry(url) => field(&mut text, "registry", registry_text(url)),
                Source::File(path) => field(&mut text, "file", path.as_str()),
            }
            field(&mut text, "address", locked.address.to_string());
            field(&mut text, "archive", locked.archive.to_string());
            field(&mut text, "key", locked.key.to_string());
            if let Some(index) = locked.log_index {
                let _ = writeln!(text, "log-index = {index}");
            }
            if let Some(unknown) = self.unknown_of_skills.get(name) {
                write_unknown(&mut text, unknown);
            }
        }
        text
    }
}

fn field(text: &mut String, key: &str, value: impl Into<String>) {
    let _ = writeln!(text, "{key} = {}", toml::Value::String(value.into()));
}

/// Writes tables inline, so that no header of theirs changes where the next key belongs.
fn write_unknown(text: &mut String, unknown: &toml::Table) {
    for (key, value) in unknown {
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !key.is_empty() && key.chars().all(bare) {
            let _ = writeln!(text, "{key} = {value}");
        } else {
            let _ = writeln!(text, "{} = {value}", toml::Value::String(key.clone()));
        }
    }
}

fn check_version(reading: &mut Reading<'_>, table: &DeTable<'_>) {
    let Some(value) = table.get("version") else {
        let message = "`version` is missing: this is no lockfile";
        reading.fault_with_hint(0..0, message, RESTORING.to_owned());
        return;
    };
    let number = value
        .get_ref()
        .as_integer()
        .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
    match number {
        Some(LOCK_VERSION) => {}
        Some(later) if later > LOCK_VERSION => reading.fault_with_code(
            "format_too_new",
            value.span(),
            format!(
                "this lockfile is of version {later}; this skillpkg reads version {LOCK_VERSION}"
            ),
            Some(format!("use a skillpkg that reads lockfiles of version {later}")),
        ),
        _ => reading.fault(value.span(), format!("`version` must be {LOCK_VERSION}")),
    }
}

fn read_entry(reading: &mut Reading<'_>, span: Span, fields: &DeTable<'_>) -> Option<Locked> {
    let Some(name) = fields.get("name") else {
        let said = fields.get("version").and_then(|value| value.get_ref().as_str());
        let of = said.map_or_else(String::new, |said| format!(", of version `{}`,", escape(said)));
        let message = format!("the entry that starts here{of} has no `name`");
        let hint = format!("an entry is believed only as a whole; {RESTORING}");
        reading.fault_with_hint(span, message, hint);
        return None;
    };
    let name: QualifiedName = reading.parsed("name", name)?;
    let hint = || {
        format!(
            "an entry is believed only as a whole; remove it and run `skillpkg sync`, which \
             resolves `{name}` again"
        )
    };
    for key in ["version", "address", "archive", "key"] {
        if !fields.contains_key(key) {
            reading.fault_with_hint(span.clone(), format!("`{name}` has no `{key}`"), hint());
        }
    }
    let source = match (fields.get("registry"), fields.get("file")) {
        (Some(registry), None) => read_registry(reading, registry).map(Source::Registry),
        (None, Some(file)) => {
            let path = reading.text_of("file", file).map(str::to_owned);
            path.and_then(|path| match check_file(&path) {
                Ok(()) => Some(Source::File(path)),
                Err(message) => {
                    reading.fault(file.span(), message);
                    None
                }
            })
        }
        (None, None) => {
            let message = format!("`{name}` has neither `registry` nor `file`");
            reading.fault_with_hint(span, message, hint());
            None
        }
        (Some(_), Some(file)) => {
            reading.fault(file.span(), format!("`{name}` has both `registry` and `file`"));
            None
        }
    };
    let version = fields.get("version").and_then(|value| reading.parsed("version", value));
    let address = fields.get("address").and_then(|value| sha256(reading, "address", value));
    let archive = fields.get("archive").and_then(|value| sha256(reading, "archive", value));
    let key = fields.get("key").and_then(|value| reading.parsed("key", value));
    let log_index = match fields.get("log-index") {
        None => None,
        Some(value) => {
            let index = value
                .get_ref()
                .as_integer()
                .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
            if index.is_none() {
                reading.fault(value.span(), "`log-index` must be a whole number");
            }
            index
        }
    };
    Some(Locked {
        name,
        version: version?,
        source: source?,
        address: address?,
        archive: archive?,
        key: key?,
        log_index,
    })
}

fn sha256(
    reading: &mut Reading<'_>,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Option<ContentAddress> {
    let address: ContentAddress = reading.parsed(key, value)?;
    if address.algorithm() != Algorithm::Sha256 {
        reading.fault(value.span(), format!("`{key}` must be a `sha256:` address"));
        return None;
    }
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use skillpkg_schema::Sha256Digest;

    #[test]
    fn a_file_of_faults_is_told_in_a_hundred_lines_and_at_once() {
        let entries = |count| format!("version = 1\n{}", "[[skill]]\nname = \"A\"\n".repeat(count));
        let started = std::time::Instant::now();
        let faults = LockFile::parse(&entries(MAX_PROJECT_SKILLS)).unwrap_err();
        assert_eq!(faults.diagnostics().len(), 101);
        let more = MAX_PROJECT_SKILLS - 100;
        assert_eq!(faults.diagnostics()[100].message, format!("and {more} more"));
        assert_eq!(LockFile::parse(&entries(20_000)).unwrap_err().diagnostics().len(), 1);
        // Counting lines anew for each of them takes minutes.
        assert!(started.elapsed().as_secs() < 20);
    }

    fn digest(text: &str) -> String {
        Sha256Digest::of(text.as_bytes()).to_string()
    }

    fn sample() -> String {
        format!(
            "{HEADER}version = 1\n\n[[skill]]\nname = \"acme/reports\"\nversion = \"2.1.0\"\n\
             registry = \"https://skills.example.org\"\naddress = \"sha256:{a}\"\n\
             archive = \"sha256:{b}\"\nkey = \"{k}\"\nlog-index = 7\n\n[[skill]]\n\
             name = \"local\"\nversion = \"1.0.0\"\nfile = \"vendor/local.skill.tar.zst\"\n\
             address = \"sha256:{a}\"\narchive = \"sha256:{b}\"\nkey = \"{k}\"\n",
            a = digest("a"),
            b = digest("b"),
            k = digest("k"),
        )
    }

    #[test]
    fn a_lockfile_comes_out_as_it_went_in() {
        let lock = LockFile::parse(&sample()).unwrap();
        assert_eq!(lock.to_text(), sample());
        assert_eq!(LockFile::parse(&sample().replace('\n', "\r\n")).unwrap(), lock);
        insta::assert_snapshot!(lock.to_text());
    }

    #[test]
    fn fields_of_later_versions_are_kept() {
        let text = sample()
            .replace("version = 1\n", "version = 1\nmirrors = [\"a\"]\npolicy = { least = 2 }\n")
            .replace("log-index = 7\n", "log-index = 7\nproof = \"x\"\n");
        let mut lock = LockFile::parse(&text).unwrap();
        assert_eq!(lock.to_text(), text);
        lock.remove(&"acme/reports".parse().unwrap());
        assert!(!lock.to_text().contains("proof") && lock.to_text().contains("least = 2"));
    }

    #[test]
    fn a_table_of_a_later_version_is_kept_where_keys_stay_theirs() {
        let text = format!("{}\n[witness]\nname = \"w\"\n", sample());
        let lock = LockFile::parse(&text).unwrap();
        assert_eq!(LockFile::parse(&lock.to_text()).unwrap(), lock);
    }

    #[test]
    fn a_lockfile_of_the_future_is_refused_with_the_version_needed() {
        let faults = LockFile::parse("version = 9\nskill = 1\n").unwrap_err();
        let first = faults.first();
        assert_eq!(first.code, "format_too_new");
        assert!(first.hint.as_deref().unwrap().contains("version 9"));
        assert_eq!(first.line, Some(1));
    }

    #[test]
    fn conflict_markers_are_explained_with_the_command_that_solves_them() {
        let text = format!("<<<<<<< HEAD\n{}=======\n>>>>>>> other\n", sample());
        let faults = LockFile::parse(&text).unwrap_err();
        assert_eq!(faults.first().code, "lock_conflict");
        assert!(faults.first().hint.as_deref().unwrap().contains("skillpkg sync"));
    }

    #[test]
    fn an_entry_that_is_not_whole_is_refused() {
        for key in ["name", "version", "registry", "address", "archive", "key"] {
            let (start, sample) = (format!("{key} = \""), sample());
            let kept: Vec<&str> = sample.lines().filter(|line| !line.starts_with(&start)).collect();
            let text = kept.join("\n");
            let faults = LockFile::parse(&text).unwrap_err();
            assert_eq!(faults.first().code, "lock_invalid", "without {key}");
            assert!(faults.first().message.contains(key), "{faults}");
        }
    }

    #[test]
    fn an_entry_twice_and_an_address_of_another_kind_are_refused() {
        let twice = sample().replace("name = \"local\"", "name = \"acme/reports\"");
        assert!(LockFile::parse(&twice).unwrap_err().to_string().contains("twice"));
        let other = sample().replace("address = \"sha256:", "address = \"blake3:");
        assert!(LockFile::parse(&other).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_set_of_entries_is_read_as_it_is_written(
            names in prop::collection::btree_set("[a-f][a-z0-9]{1,8}(/[a-f][a-z0-9]{1,8})?", 0..6),
            path in "[a-zA-Z0-9 '\"é]{1,12}",
            index in prop::option::of(0..u64::from(u32::MAX)),
        ) {
            let mut lock = LockFile::default();
            for (position, name) in names.iter().enumerate() {
                let Ok(name) = name.parse() else { continue };
                lock.insert(Locked {
                    name,
                    version: format!("1.{position}.0").parse().unwrap(),
                    source: if position % 2 == 0 {
                        Source::File(path.clone())
                    } else {
                        Source::Registry("http://127.0.0.1:7770".parse().unwrap())
                    },
                    address: Sha256Digest::of(&[0]).address(),
                    archive: Sha256Digest::of(&[1]).address(),
                    key: digest("k").parse().unwrap(),
                    log_index: index,
                });
            }
            prop_assert_eq!(LockFile::parse(&lock.to_text()).unwrap(), lock);
        }

        #[test]
        fn no_text_brings_the_reader_down(text in "(version = 1\n)?(\\[\\[skill\\]\\]\n)?\\PC{0,60}") {
            let _ = LockFile::parse(&text);
        }
    }
}
