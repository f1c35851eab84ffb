//! Sealing: the transaction that fixes what every pending leaf says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::{Bucket, Hash, Subject, bucket_of, head_key};

use super::append::{Leaf, append};
use super::buckets::read_bucket;
use super::{Counters, Log, LogError, stored_index};
use crate::database::Write;
use crate::documents::{self, Prepared};
use crate::skills::publish::Step;
use crate::state::AtStep;

/// Most bytes of documents that are kept from when they are sealed until they are served.
const READY_BYTES: usize = 8 * 1024 * 1024;

/// Leaves that are sealed and not yet settled.
#[derive(Debug)]
pub(super) struct Batch {
    /// Leaves in the tree that they make.
    pub(super) size: u64,
    /// The skills whose documents they change.
    pub(super) touched: Vec<Touched>,
}

/// A skill whose document is another.
#[derive(Debug)]
pub(super) struct Touched {
    pub(super) name: QualifiedName,
    /// The new document, where it is kept; [`None`] is for whoever asks to load.
    pub(super) ready: Option<Arc<Prepared>>,
}

impl Log {
    /// Seals all leaves that are pending; [`None`] where there are none.
    ///
    /// One transaction: it reads the pending leaves' documents as of the last of them, adds the leaf
    /// of the heads tree, and keeps what is to change in that tree. Committed, it survives a crash.
    /// What was sealed before and is not settled is answered as it is.
    pub(super) async fn seal(&self, at_step: Option<&AtStep>) -> Result<Option<Batch>, LogError> {
        let keyring = self.keyring();
        let mut write = self.data.database.write().await?;
        let counters = Counters::read(&mut *write).await?;
        if counters.covered > self.signed.load(Ordering::Acquire) {
            return Err(LogError::Overtaken(counters.covered));
        }
        if counters.sealed > counters.covered {
            let touched = touched(&mut write, stored_index(counters.sealed)).await?;
            let touched = touched.into_iter().map(|name| Touched { name, ready: None }).collect();
            return Ok(Some(Batch { size: counters.sealed, touched }));
        }
        let identities = keyring.chain().identities();
        let new = identities.iter().filter(|one| one.number > counters.identity);
        let new: Vec<_> = new.collect();
        let names = touched(&mut write, i64::MAX).await?;
        if counters.next == counters.covered && new.is_empty() && names.is_empty() {
            return Ok(None);
        }
        for identity in new {
            let (number, identity) = (identity.number, identity.fingerprint());
            append(&mut write, Leaf::now(Subject::LogIdentity { number, identity })).await?;
        }
        let (touched, changes) = documents_of(&mut write, names).await?;
        let buckets = buckets_with(&mut write, &changes).await?;
        let root = self.moment.read().await.tree.root_with(&buckets);
        let heads = append(&mut write, Leaf::now(Subject::Heads { root })).await?;
        for (key, digest) in &changes {
            sqlx::query("INSERT INTO log_sealed_heads (bucket, key, digest) VALUES ($1, $2, $3)")
                .bind(i64::from(bucket_of(key)))
                .bind(key.as_bytes().as_slice())
                .bind(digest.as_ref().map(|digest| digest.as_bytes().as_slice()))
                .execute(&mut *write)
                .await?;
        }
        sqlx::query("UPDATE log_state SET sealed = next_index, identity = $1 WHERE id = 1")
            .bind(stored_index(keyring.number()))
            .execute(&mut *write)
            .await?;
        super::sequencer::reach(at_step, Step::Sealing)?;
        write.commit().await?;
        super::sequencer::reach(at_step, Step::Sealed)?;
        Ok(Some(Batch { size: heads + 1, touched }))
    }
}

/// The skills whose documents the leaves before `end` change.
async fn touched(write: &mut Write, end: i64) -> Result<Vec<QualifiedName>, LogError> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT DISTINCT s.name, k.name FROM log_touched t JOIN skills k ON k.id = t.skill_id
         JOIN scopes s ON s.id = k.scope_id WHERE t.log_index < $1",
    )
    .bind(end)
    .fetch_all(&mut **write)
    .await?;
    rows.iter()
        .map(|(scope, name)| {
            QualifiedName::from_wire(scope, name).map_err(|_| LogError::Row("skills"))
        })
        .collect()
}

type Changes = BTreeMap<Hash, Option<Hash>>;

/// The documents of these skills as this transaction sees them, and what they change in the heads
/// tree: nothing of a private skill is in it.
async fn documents_of(
    write: &mut Write,
    names: Vec<QualifiedName>,
) -> Result<(Vec<Touched>, Changes), LogError> {
    let failed = |refusal: crate::problem::Refusal| LogError::Document(refusal.told_in_full());
    let mut kept = 0;
    let mut touched = Vec::with_capacity(names.len());
    let mut changes = Changes::new();
    for name in names {
        let document = documents::load(write, &name, None).await.map_err(failed)?;
        let prepared = document.map(|document| documents::prepare(&document)).transpose();
        let prepared = prepared.map_err(failed)?;
        let public = prepared.as_ref().filter(|prepared| !prepared.private);
        changes.insert(head_key(&name), public.map(|prepared| prepared.digest));
        let ready = prepared.filter(|prepared| kept + prepared.bytes.len() <= READY_BYTES);
        kept += ready.as_ref().map_or(0, |prepared| prepared.bytes.len());
        touched.push(Touched { name, ready: ready.map(Arc::new) });
    }
    Ok((touched, changes))
}

/// The leaf hashes of the buckets that the changes are in.
async fn buckets_with(write: &mut Write, changes: &Changes) -> Result<Vec<(u16, Hash)>, LogError> {
    let mut buckets: BTreeMap<u16, Bucket> = BTreeMap::new();
    for (key, digest) in changes {
        let number = bucket_of(key);
        let bucket = match buckets.entry(number) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(read_bucket(write, number).await?)
            }
        };
        bucket.set(*key, *digest);
    }
    Ok(buckets.into_iter().map(|(number, bucket)| (number, bucket.leaf_hash())).collect())
}
