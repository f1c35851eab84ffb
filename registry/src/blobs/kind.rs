//! Which kinds of objects there are, and under which keys.

use object_store::path::Path;
use skillpkg_schema::Sha256Digest;

/// What kind of object a digest is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An archive as it was uploaded.
    Archive,
    /// A manifest's canonical bytes.
    Manifest,
    /// One file of a snapshot.
    File,
    /// A container that a face serves.
    Rendering,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Archive, Self::Manifest, Self::File, Self::Rendering];

    /// The first part of the keys of its objects.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Archive => "archives",
            Self::Manifest => "manifests",
            Self::File => "blobs",
            Self::Rendering => "renderings",
        }
    }

    /// The key of the object with this digest, such as `blobs/sha256/ab/abcd…`.
    pub fn key(self, digest: &Sha256Digest) -> Path {
        let digits = digest.to_string();
        let (first, _) = digits.split_at(2);
        Path::from_iter([self.prefix(), "sha256", first, &digits])
    }

    /// The kind and the digest that a key is of.
    pub fn of_key(key: &Path) -> Option<(Self, Sha256Digest)> {
        let digest = key.filename()?.parse().ok()?;
        Self::ALL.into_iter().find(|kind| kind.key(&digest) == *key).map(|kind| (kind, digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written_and_no_other_is() {
        let digest = Sha256Digest::of(b"x");
        for kind in Kind::ALL {
            assert_eq!(Kind::of_key(&kind.key(&digest)), Some((kind, digest)));
        }
        assert_eq!(Kind::of_key(&Path::from(format!("blobs/{digest}"))), None);
        assert_eq!(Kind::of_key(&Path::from("staging/ab")), None);
    }
}
