// Everything can be done with the keyboard alone, and read without any script.

import { base, given, need, open, run, same } from "./common.mjs";

const focused = (page, read) => page.evaluate(read);

async function withKeys(browser) {
  const { page, close } = await open(browser);
  await page.goto(`${base}/log`);
  await page.keyboard.press("Tab");
  same(await focused(page, () => document.activeElement.textContent), "Skip to the content", "what comes first");
  await page.keyboard.press("Enter");
  same(await focused(page, () => document.activeElement.id), "main", "where that leads");

  await page.keyboard.press("/");
  same(await focused(page, () => document.activeElement.name), "q", "where `/` leads");
  await page.keyboard.type("waitlist");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\?q=waitlist/);
  for (let at = 0; at < 30; at += 1) {
    await page.keyboard.press("Tab");
    if ((await focused(page, () => document.activeElement.textContent)) === "acme/waitlist") break;
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(/skills\/acme\/waitlist$/);

  // Each stop is seen, and none is a trap.
  const stops = [];
  let theme = false;
  let opened = false;
  for (let at = 0; at < 80; at += 1) {
    await page.keyboard.press("Tab");
    const stop = await focused(page, () => {
      const element = document.activeElement;
      const shown = element.matches(".tabs input") ? element.nextElementSibling : element;
      const style = getComputedStyle(shown);
      const box = shown.getBoundingClientRect();
      return {
        what: `${element.tagName} ${element.id} ${element.textContent.slice(0, 30)}`,
        seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 0,
        body: element === document.body,
        kind: element.matches(".theme") ? "theme" : element.matches(".digest summary") ? "digest" : element.matches(".tabs input") ? "tabs" : "",
      };
    });
    if (stop.body) break;
    need(stop.seen, `the focus is not seen: ${stop.what}`);
    stops.push(stop.kind);
    if (stop.kind === "theme" && !theme) {
      theme = true;
      await page.keyboard.press("Enter");
      same(await focused(page, () => document.documentElement.dataset.theme), "light", "the theme");
      await page.keyboard.press("Space");
      same(await focused(page, () => getComputedStyle(document.documentElement).colorScheme), "dark", "the scheme");
    }
    if (stop.kind === "digest" && !opened) {
      opened = true;
      await page.keyboard.press("Enter");
      same(await focused(page, () => document.activeElement.parentElement.open), true, "the digest");
    }
    if (stop.kind === "tabs") {
      await page.keyboard.press("ArrowRight");
      same(await page.locator(".way.skills").isVisible(), true, "the next client");
    }
  }
  for (const kind of ["theme", "digest", "tabs"]) need(stops.includes(kind), `no key leads to ${kind}`);
  await page.reload();
  same(await focused(page, () => document.documentElement.dataset.theme), "dark", "the theme afterwards");
  await close();
}

async function withoutScript(browser) {
  const { page, close } = await open(browser, { javaScriptEnabled: false });
  await page.goto(base);
  await page.locator("#find").fill("waitlist");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "acme/waitlist" }).click();
  same(await page.locator("h1").innerText(), "acme/waitlist", "the heading");
  same(await page.locator(".copy, .theme:visible").count(), 0, "what needs a script");
  await page.locator("label[for=way-apm]").click();
  same(await page.locator(".way.apm").isVisible(), true, "another client");
  await page.locator(".digest summary").first().click();
  same(await page.locator(".digest .whole").first().isVisible(), true, "a whole digest");
  await page.getByRole("link", { name: "changes of 2.0.0" }).click();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.waitForURL(/diff\/1\.0\.0\/2\.0\.0$/);
  await page.goto(`${base}/sign-in?to=/skills/secret/plan`);
  await page.getByLabel("Token").fill(given.token);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${base}/skills/secret/plan`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in" }).waitFor();
  await close();
}

await run(async (browser) => {
  await withKeys(browser);
  await withoutScript(browser);
});
