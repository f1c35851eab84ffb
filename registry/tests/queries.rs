//! A request about what one may not read asks the database as much as one about what is not there.
//!
//! In a process of its own, since whoever counts what is asked hears all of it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skillpkg_registry::access::Need;
use skillpkg_registry::accounts;
use skillpkg_registry::accounts::scopes;
use skillpkg_registry::auth::{Caller, Credential};
use skillpkg_registry::data::Data;
use skillpkg_registry::grant::Grant;
use skillpkg_registry::problem::Code;
use skillpkg_registry::skills;
use skillpkg_schema::QualifiedName;

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Takes one line a query.
struct Counter;

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ASKED.fetch_add(1, Ordering::SeqCst);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_hidden_and_the_absent_cost_the_same_queries() {
    tracing_subscriber::fmt().with_env_filter("sqlx::query=debug").with_writer(|| Counter).init();
    let directory = tempfile::tempdir().unwrap();
    let data = Data::open_or_create(directory.path()).await.unwrap();
    for account in ["ana", "stranger"] {
        accounts::add(&data.database, account).await.unwrap();
    }
    scopes::add(&data.database, "secret", "ana", true).await.unwrap();
    let mut write = data.database.write().await.unwrap();
    sqlx::query(
        "INSERT INTO skills (scope_id, name, collision_key, creator_id, created)
         SELECT s.id, 'plan', 'plan', a.id, '2026-01-01T00:00:00Z'
         FROM scopes s, accounts a WHERE s.name = 'secret' AND a.name = 'ana'",
    )
    .execute(&mut *write)
    .await
    .unwrap();
    write.commit().await.unwrap();
    let stranger = accounts::find(data.database.readers(), "stranger").await.unwrap().unwrap();
    let grants = ["read", "publish:*", "yank:*", "admin"];
    let stranger = Caller::Account(Arc::new(Credential {
        token: "t".to_owned(),
        account_id: stranger.id,
        account: stranger.name,
        grants: grants.iter().map(|grant| grant.parse::<Grant>().unwrap()).collect(),
        expires: None,
        memberships: Vec::new(),
        publisher: None,
    }));
    let mut read = data.database.readers().acquire().await.unwrap();
    for caller in [&Caller::Anonymous, &stranger] {
        for need in [Need::Read, Need::Yank, Need::ManageOwners, Need::ManagePublishers] {
            let mut costs = Vec::new();
            for name in ["secret/plan", "secret/none", "absent/plan"] {
                let name: QualifiedName = name.parse().unwrap();
                let before = ASKED.load(Ordering::SeqCst);
                let refused = skills::find_for(&mut read, caller, need, &name).await.unwrap_err();
                let is_hidden = refused.code() == Code::NotFound;
                // The driver tells of a query once it has ended, which an answer does not wait for.
                tokio::time::sleep(Duration::from_millis(20)).await;
                costs.push((ASKED.load(Ordering::SeqCst) - before, is_hidden));
            }
            assert!(costs.iter().all(|cost| *cost == costs[0]), "{need:?}: {costs:?}");
            let looks = matches!(caller, Caller::Account(_)) || need == Need::Read;
            assert_eq!(costs[0].0 > 0, looks, "{need:?}: {costs:?}");
        }
    }
}
