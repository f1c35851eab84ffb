//! A proof as commands that anybody can run.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use skillpkg_schema::log::{Checkpoint, Hash, Note, NoteKey};

use crate::web::digest::Digest;

/// One step of the path from a leaf to the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Whether the other node stands on the left.
    pub(super) is_left: bool,
    hash: Hash,
}

impl Step {
    /// The other node.
    pub(super) fn digest(&self) -> Digest {
        (&self.hash).into()
    }
}

/// The steps of an inclusion proof, each with the side of its hash (RFC 9162, 2.1.3.2).
pub(super) fn steps(index: u64, size: u64, proof: &[Hash]) -> Vec<Step> {
    let (mut at, mut last) = (index, size.saturating_sub(1));
    let mut steps = Vec::with_capacity(proof.len());
    for hash in proof {
        let is_left = at & 1 == 1 || at == last;
        if is_left {
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        }
        at >>= 1;
        last >>= 1;
        steps.push(Step { is_left, hash: *hash });
    }
    steps
}

/// A script for any shell with `openssl` of version 3, which ends with an error where anything does
/// not hold. Texts of other people stand in it as base64 alone.
pub(super) fn script(
    index: u64,
    checkpoint: &Checkpoint,
    entry: &[u8],
    steps: &[Step],
    key: Option<&NoteKey>,
    note: &Note,
) -> String {
    let Checkpoint { size, root, .. } = checkpoint;
    let mut script = format!(
        "# Leaf {index} of {size}. Needs a shell and OpenSSL 3, and nothing of skillpkg.\n\
         set -eu; cd \"$(mktemp -d)\"\n\
         bytes() {{ printf '%s' \"$1\" | openssl base64 -d -A; }}\n\
         sha256() {{ openssl dgst -sha256 -binary; }}\n\
         left() {{ {{ printf '\\001'; bytes \"$1\"; cat node; }} | sha256 > up; mv up node; }}\n\
         right() {{ {{ printf '\\001'; cat node; bytes \"$1\"; }} | sha256 > up; mv up node; }}\n\n\
         # The leaf: a zero byte, then what it says.\n\
         bytes '{}' > leaf\n\
         cat leaf; echo\n\
         {{ printf '\\000'; cat leaf; }} | sha256 > node\n\n\
         # The path: each step hashes two nodes behind a one byte.\n",
        STANDARD.encode(entry)
    );
    for step in steps {
        let side = if step.is_left { "left" } else { "right" };
        let _ = writeln!(script, "{side} '{}'", STANDARD.encode(step.hash.as_bytes()));
    }
    let _ = write!(
        script,
        "\n# Where it leads is the root that the checkpoint says.\n\
         test \"$(openssl base64 -A < node)\" = '{}'\n",
        STANDARD.encode(root.as_bytes())
    );
    let signed = key.and_then(|key| {
        let of = |one: &&skillpkg_schema::log::NoteSignature| {
            one.name == key.name() && one.id == key.id()
        };
        note.signatures().iter().find(of).map(|signature| (key, signature))
    });
    if let Some((key, signature)) = signed {
        let _ = write!(
            script,
            "\n# The checkpoint is signed by the log's key: hold that against the one that you know.\n\
             bytes '{}' > checkpoint\n\
             test \"$(sed -n 3p checkpoint)\" = \"$(openssl base64 -A < node)\"\n\
             bytes '{}' | openssl pkey -pubin -inform DER -out key.pem\n\
             bytes '{}' > signature\n\
             openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in checkpoint -sigfile signature\n",
            STANDARD.encode(note.text()),
            STANDARD.encode(key.key().to_der()),
            STANDARD.encode(&signature.bytes),
        );
    }
    script
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::log::{leaf_hash, node_hash, root_of};

    use super::*;

    /// The inclusion proof of a leaf, by the definition of RFC 9162, 2.1.3.1.
    fn proof(leaves: &[Hash], index: usize) -> Vec<Hash> {
        if leaves.len() <= 1 {
            return Vec::new();
        }
        let middle = leaves.len().next_power_of_two() / 2;
        let (left, right) = leaves.split_at(middle);
        if index < middle {
            let mut path = proof(left, index);
            path.push(root_of(right));
            path
        } else {
            let mut path = proof(right, index - middle);
            path.push(root_of(left));
            path
        }
    }

    #[test]
    fn the_steps_of_every_leaf_lead_to_the_root() {
        for size in 1..70_u8 {
            let leaves: Vec<Hash> = (0..size).map(|leaf| leaf_hash(&[leaf])).collect();
            for index in 0..size {
                let path = proof(&leaves, index.into());
                let mut node = leaves[usize::from(index)];
                for step in steps(index.into(), size.into(), &path) {
                    node = if step.is_left {
                        node_hash(&step.hash, &node)
                    } else {
                        node_hash(&node, &step.hash)
                    };
                }
                assert_eq!(node, root_of(&leaves), "{index} of {size}");
            }
        }
    }
}
