//! Documents that are changed, hidden, made up or of another day.

use skillpkg::Kind;
use skillpkg_schema::log::{Hash, Salt, sign_document};
use skillpkg_schema::wire::Hashes;

use crate::log::{Log, pack};
use crate::machine::Machine;
use crate::registry::Registry;

async fn refused(registry: &Registry, reference: &str) -> (String, Kind) {
    let machine = Machine::new(registry);
    let error = machine.refused(reference).await;
    assert!(machine.is_clean());
    (error.code, error.kind)
}

fn verification(code: &str) -> (String, Kind) {
    (code.to_owned(), Kind::Verification)
}

#[tokio::test]
async fn a_document_with_one_other_byte_is_refused() {
    let registry = Registry::with_waitlist();
    registry.lie_in_index(|index| index.documents[0].insert(1, b' '));
    assert_eq!(refused(&registry, "waitlist").await, verification("document_changed"));
}

#[tokio::test]
async fn a_document_of_one_day_with_the_view_of_another_is_refused() {
    let registry = Registry::with_waitlist();
    let old = registry.log().bytes[&"waitlist".parse().unwrap()].clone();
    registry.publish("waitlist", "1.1.0");
    registry.lie_in_index(move |index| index.documents[0].clone_from(&old));
    assert_eq!(refused(&registry, "waitlist").await, verification("document_changed"));
    // And the view of an earlier day with the document of this one.
    let registry = Registry::with_waitlist();
    let old = registry.log();
    registry.publish("waitlist", "1.1.0");
    registry.lie_in_index(move |index| {
        index.views[0] = old.view(0, &["waitlist".parse().unwrap()]);
    });
    assert_eq!(refused(&registry, "waitlist").await, verification("document_changed"));
    // And a last leaf that is not the last.
    let registry = Registry::with_waitlist();
    let old = registry.log();
    registry.publish("waitlist", "1.1.0");
    let log = registry.log();
    registry.lie_in_index(move |index| {
        index.views[0].heads = log.proven(old.size() - 1);
        index.views[0].buckets = old.view(0, &["waitlist".parse().unwrap()]).buckets;
    });
    assert_eq!(refused(&registry, "waitlist").await, verification("heads_refused"));
}

#[tokio::test]
async fn a_document_that_the_log_does_not_list_is_refused() {
    let registry = Registry::with_waitlist();
    let mut other = registry.log();
    let packed = pack("evil", "1.0.0", &other.author);
    other.publish(&packed);
    let bytes = other.bytes[&"evil".parse().unwrap()].clone();
    registry.lie_in_index(move |index| {
        index.documents.push(bytes.clone());
        index.missing.clear();
    });
    assert_eq!(refused(&registry, "evil").await, verification("document_not_listed"));
}

#[tokio::test]
async fn a_skill_that_is_listed_and_said_to_be_missing_is_told() {
    let registry = Registry::with_waitlist();
    registry.lie_in_index(|index| {
        index.documents.clear();
        index.missing = vec!["waitlist".parse().unwrap()];
    });
    assert_eq!(refused(&registry, "waitlist").await, verification("document_hidden"));
    // One that was never there is a slip of the user's.
    registry.change(|state| state.index = None);
    assert_eq!(refused(&registry, "nothing").await.0, "skill_not_found");
}

#[tokio::test]
async fn buckets_that_are_left_out_falsified_or_too_many_are_refused() {
    let registry = Registry::with_waitlist();
    for lie in 0..4 {
        registry.lie_in_index(move |index| {
            let buckets = &mut index.views[0].buckets;
            match lie {
                0 => buckets.clear(),
                1 => buckets[0].heads = Hashes(Vec::new()),
                2 => buckets[0].proof.0[3] = Hash::of(b"other"),
                _ => {
                    for _ in 0..3 {
                        let bucket = buckets[0].clone();
                        buckets.push(bucket);
                    }
                }
            }
        });
        assert_eq!(refused(&registry, "waitlist").await, verification("heads_refused"), "{lie}");
    }
}

#[tokio::test]
async fn a_private_document_is_believed_by_a_statement_of_the_log_alone() {
    let registry = Registry::start(Log::new("skillpkg/test"));
    registry.change(|state| {
        let packed = pack("acme/secret", "1.0.0", &state.log.author);
        state.keep(&packed);
        state.log.record(&packed, true);
        state.log.commit();
    });
    let machine = Machine::new(&registry);
    machine.install("acme/secret").await.unwrap();
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    registry.lie_in_index(|index| index.views[0].statements.clear());
    assert_eq!(refused(&registry, "acme/secret").await, verification("document_not_listed"));
    // A statement that somebody else signed, or that is of another day.
    let log = registry.log();
    let mut stranger = log.clone();
    stranger.take_other_keys();
    let name = || "acme/secret".parse().unwrap();
    registry.lie_in_index(move |index| {
        index.views[0].statements = stranger.view(0, &[name()]).statements;
    });
    assert_eq!(refused(&registry, "acme/secret").await, verification("statement_refused"));
    registry.publish("other", "1.0.0");
    registry.lie_in_index(move |index| {
        index.views[0].statements = log.view(0, &[name()]).statements;
    });
    assert_eq!(refused(&registry, "acme/secret").await, verification("statement_refused"));
    // One that says that it is public, of which the list would tell.
    let log = registry.log();
    registry.lie_in_index(move |index| {
        let name = || "acme/secret".parse().unwrap();
        let mut document = log.skills[&name()].clone();
        document.private = false;
        let bytes = serde_json::to_vec(&document).unwrap();
        let digest = Some(Hash::of(&bytes));
        let (origin, size, key) = (&log.origin, log.size(), &log.signing);
        index.views[0].statements = vec![sign_document(origin, size, &name(), digest, key)];
        index.documents = vec![bytes];
    });
    assert_eq!(refused(&registry, "acme/secret").await, verification("document_not_listed"));
    // Its leaf is opened by its salt alone.
    registry.change(|state| state.index = None);
    registry.lie_in_proofs(|answer| {
        answer.records[0].sealed.salt = Some(Salt::from_bytes([8; 32]));
    });
    assert_eq!(refused(&registry, "acme/secret").await, verification("inclusion_refused"));
}
