//! What is said where something that looks like a secret would be packed.

use skillpkg_schema::finding::secret::Secret;
use skillpkg_schema::{Diagnostic, SkillPath};

/// What is told of a secret in the file at `path`: an error, or a warning where secrets are allowed.
///
/// Never repeats the secret.
pub(super) fn diagnostic(secret: &Secret, path: &SkillPath, allowed: bool) -> Diagnostic {
    let Secret { what, line } = secret;
    let one = if allowed {
        Diagnostic::warning(
            "secret_packed",
            format!("`{path}` is packed, though it seems to hold {what}"),
        )
    } else {
        let message = format!("`{path}` holds what looks like {what}");
        Diagnostic::error("secret_found", message).with_hint(
            "take it out, or leave the file out with `.skillignore`; \
             `skillpkg publish --allow-secrets` packs it as it is",
        )
    };
    let one = one.in_file(path.as_str());
    match line {
        Some(line) => one.at_line(*line),
        None => one,
    }
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::finding::secret::find;

    use super::*;

    #[test]
    fn the_secret_itself_is_not_repeated() {
        // Joined here so that no scanner takes this file for what it describes.
        let random = "Zq8Lw3Vt6Yb1Nc5Md9Kf2Hg7Js4Rp0XuAeTi";
        let path: SkillPath = "a.txt".parse().unwrap();
        let found = find(&path, format!("{}{random}", "ghp_").as_bytes());
        assert_eq!(found.len(), 1);
        for allowed in [false, true] {
            assert!(!diagnostic(&found[0], &path, allowed).to_string().contains(random));
        }
    }
}
