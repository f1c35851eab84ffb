//! Where the pages are beneath their host: at its root, or at the path of the registry's public URL.
//!
//! The proxy before the registry takes that path away, so that every path here is written without it
//! and is given it where an answer leaves.

use url::Url;

/// The path that every page, form, asset and cookie of the registry is beneath.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Root {
    /// Without a `/` behind; nothing at the root of a host.
    prefix: String,
}

impl Root {
    /// The path of a URL.
    pub(super) fn of(public_url: Option<&Url>) -> Self {
        let prefix = public_url.map_or("", |url| url.path().trim_end_matches('/'));
        Self { prefix: prefix.to_owned() }
    }

    /// A path of this registry, as a browser asks for it.
    pub(super) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Where cookies are sent to.
    pub(super) fn of_cookies(&self) -> &str {
        if self.prefix.is_empty() { "/" } else { &self.prefix }
    }

    /// Whether it is that of the whole host.
    pub(super) fn is_host(&self) -> bool {
        self.prefix.is_empty()
    }

    /// A page whose links, forms and assets are beneath this path.
    ///
    /// No text of a page holds a quote as it is (`text`), so that what is looked for stands nowhere
    /// but at the start of an attribute.
    pub(super) fn page(&self, html: String) -> String {
        if self.prefix.is_empty() {
            return html;
        }
        let mut written = String::with_capacity(html.len() + html.len() / 8);
        let mut rest = html.as_str();
        while let Some(at) = rest.find("=\"/") {
            let (before, behind) = rest.split_at(at + 2);
            written.push_str(before);
            let leads = [" href=\"", " src=\"", " action=\""];
            if leads.iter().any(|attribute| before.ends_with(attribute)) {
                written.push_str(&self.prefix);
            }
            rest = behind;
        }
        written.push_str(rest);
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(url: &str) -> Root {
        Root::of(Some(&url.parse().unwrap()))
    }

    #[test]
    fn what_a_page_leads_to_is_beneath_its_path_and_nothing_else_is_changed() {
        let html = "<a class=\"a\" href=\"/log\">href=&quot;/x</a><img src=\"/static/a\">\
                    <form action=\"/\"><input value=\"/log\"><a href=\"https://a/\"><a href=\"#b\">";
        let beneath = root("https://a.example/some/skills/").page(html.to_owned());
        assert_eq!(
            beneath,
            "<a class=\"a\" href=\"/some/skills/log\">href=&quot;/x</a>\
             <img src=\"/some/skills/static/a\"><form action=\"/some/skills/\">\
             <input value=\"/log\"><a href=\"https://a/\"><a href=\"#b\">"
        );
        for whole in [Root::of(None), root("https://a.example"), root("https://a.example/")] {
            assert_eq!(whole.page(html.to_owned()), html);
            assert!(whole.is_host());
        }
    }

    #[test]
    fn a_path_and_the_cookies_are_beneath_it() {
        let beneath = root("https://a.example/some/");
        assert_eq!((beneath.path("/log").as_str(), beneath.of_cookies()), ("/some/log", "/some"));
        assert_eq!((Root::of(None).path("/").as_str(), Root::of(None).of_cookies()), ("/", "/"));
    }
}
