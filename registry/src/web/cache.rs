//! Pages for whoever is nobody in particular, rendered once.

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use skillpkg_schema::Sha256Digest;
use tokio::sync::Semaphore;

use super::answer::Page;
use crate::problem::{Answer, Refusal};

/// Most bytes of pages in memory.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// About how many pages that is.
const CACHE_ITEMS: usize = 4_096;
/// Pages rendered at once: the slowest take a processor for a while.
const RENDERED_AT_ONCE: usize = 4;

/// Which page, of what the registry says: another document has other pages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Where the reader reaches the registry, which stands in what is to be copied.
    pub(super) base: String,
    /// The path and the query, as far as the page depends on it.
    pub(super) path: String,
    /// The digest of the skill's document.
    pub(super) document: Sha256Digest,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<Key, Page> for ByLength {
    fn weight(&self, key: &Key, page: &Page) -> u64 {
        (key.base.len() + key.path.len() + page.html.len()) as u64 + 256
    }
}

/// The pages that are ready.
#[derive(Debug)]
pub(super) struct Pages {
    ready: Cache<Key, Page, ByLength>,
    turns: Semaphore,
}

impl Pages {
    /// None yet.
    pub(super) fn new() -> Self {
        let ready = Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength);
        Self { ready, turns: Semaphore::new(RENDERED_AT_ONCE) }
    }

    /// The page of a key, rendered where it is not ready; those who ask meanwhile wait for it.
    pub(super) async fn get(
        &self,
        key: &Key,
        render: impl Future<Output = Answer<String>>,
    ) -> Answer<Page> {
        self.ready.get_or_insert_async(key, async { Page::new(self.render(render).await?) }).await
    }

    /// Renders in turn.
    pub(super) async fn render(
        &self,
        render: impl Future<Output = Answer<String>>,
    ) -> Answer<String> {
        let turn = self.turns.acquire().await.map_err(|error| Refusal::internal(&error))?;
        let html = render.await;
        drop(turn);
        html
    }

    /// How many are ready.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }
}
