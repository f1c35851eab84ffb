//! Media types of files, by how their names end.

/// By extension, sorted.
const TYPES: [(&str, &str); 31] = [
    ("bash", "text/x-shellscript"),
    ("c", "text/x-c"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/rust"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// The media type of a file, where its name tells it.
pub(super) fn of_path(path: &str) -> Option<&'static str> {
    let file = path.rsplit('/').next()?;
    let (_, extension) = file.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let at = TYPES.binary_search_by(|(known, _)| known.cmp(&extension.as_str())).ok()?;
    TYPES.get(at).map(|(_, media_type)| *media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_each_extension_is_found() {
        assert!(TYPES.is_sorted());
        for (extension, media_type) in TYPES {
            assert_eq!(of_path(&format!("a.b/c.{}", extension.to_uppercase())), Some(media_type));
        }
        for path in ["Makefile", "a.md/b", ".", "a.unknown", ""] {
            assert_eq!(of_path(path), None, "{path}");
        }
    }
}
