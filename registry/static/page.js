// What makes a page pleasant: without it everything can be read.
(() => {
  "use strict";

  const themes = ["system", "light", "dark"];

  function themeSwitch() {
    const button = document.querySelector("[data-theme-switch]");
    if (!button) return;
    const name = button.querySelector("[data-theme-name]");
    const root = document.documentElement;
    const show = () => {
      name.textContent = root.dataset.theme || "system";
      button.title = `Theme: ${name.textContent}`;
    };
    button.addEventListener("click", () => {
      const next = themes[(themes.indexOf(root.dataset.theme || "system") + 1) % themes.length];
      if (next === "system") delete root.dataset.theme;
      else root.dataset.theme = next;
      try {
        localStorage.setItem("theme", next);
      } catch {
        // Then it holds for this page alone.
      }
      show();
    });
    button.hidden = false;
    show();
  }

  // Without encryption a page may not write to the clipboard by itself; a selection can be copied.
  async function copy(element) {
    const text = element.textContent;
    if (navigator.clipboard && window.isSecureContext) {
      await navigator.clipboard.writeText(text);
      return;
    }
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    if (!document.execCommand("copy")) throw new Error("not copied");
    selection.removeAllRanges();
  }

  function copyButton(element) {
    const source = element.matches("pre") ? element.querySelector("code") : element;
    const button = document.createElement("button");
    const what = document.createElement("span");
    const says = document.createElement("span");
    button.type = "button";
    button.className = "copy";
    says.textContent = "Copy";
    what.className = "unread";
    what.textContent = ` ${element.dataset.copy}`;
    button.append(says, what);
    button.addEventListener("click", async () => {
      try {
        await copy(source);
        says.textContent = "Copied";
      } catch {
        says.textContent = "Not copied";
      }
      setTimeout(() => { says.textContent = "Copy"; }, 2000);
    });
    says.setAttribute("aria-live", "polite");
    if (element.matches("pre")) element.append(button);
    else element.after(button);
  }

  // `/` goes to the search, unless somebody writes.
  function searchKey(event) {
    const writes = event.target.closest("input, select, textarea");
    if (event.key !== "/" || writes || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    document.querySelector('input[type="search"]').focus();
  }

  themeSwitch();
  document.querySelectorAll("[data-copy]").forEach(copyButton);
  document.addEventListener("keydown", searchKey);
})();
