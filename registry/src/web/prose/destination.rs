//! Where a link of a skill's prose leads, and whether a page follows it.

use skillpkg_schema::Manifest;
use url::Url;

use crate::web::link;

/// Longest address that is a link.
const LONGEST: usize = 2_048;

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// To a file of the skill.
    File(String),
    /// To a host elsewhere, which is told beside it.
    Elsewhere {
        /// The address, as a browser writes it.
        url: String,
        /// What is told.
        told: String,
    },
    /// Nowhere that a page goes: shown as text.
    Nowhere,
}

/// Where an address in the prose of a skill leads.
///
/// The web, mail, and the skill's own files; never a scheme that a browser runs something for, and
/// nothing of this registry's that the author chose.
pub(super) fn of(address: &str, manifest: &Manifest) -> Destination {
    if address.len() > LONGEST {
        return Destination::Nowhere;
    }
    let (path, _) = address.split_once(['#', '?']).unwrap_or((address, ""));
    let path = path.strip_prefix("./").unwrap_or(path);
    let decoded = decoded(path);
    if let Some(file) = manifest.file(&decoded) {
        let page = link::file(&manifest.name, &manifest.version, file.path.as_str());
        return Destination::File(page);
    }
    let Ok(url) = Url::parse(address) else { return Destination::Nowhere };
    let told = match url.scheme() {
        "http" | "https" if url.username().is_empty() && url.password().is_none() => {
            url.host_str().unwrap_or_default().to_owned()
        }
        "mailto" => url.path().to_owned(),
        _ => return Destination::Nowhere,
    };
    Destination::Elsewhere { url: url.into(), told }
}

/// A path without what is written in percent; the path itself where that is no text.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.first_chunk::<2>().filter(|_| *first == b'%');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}
