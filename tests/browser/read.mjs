// Somebody finds a skill, reads it, compares versions, copies the install line and checks the log.

import { base, need, open, run, same } from "./common.mjs";

async function copied(page, button) {
  await button.click();
  await button.getByText("Copied").waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

await run(async (browser) => {
  const { context, page, close } = await open(browser);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });

  // What a first view takes.
  let weight = 0;
  const sizes = [];
  page.on("response", (response) => {
    sizes.push(response.body().then((body) => { weight += body.length; }, () => {}));
  });
  await page.goto(`${base}/skills/acme/waitlist`, { waitUntil: "networkidle" });
  await Promise.all(sizes);
  need(weight > 20_000 && weight < 100_000, `a first view takes ${weight} bytes`);

  // Search.
  await page.goto(base);
  await page.getByLabel("Find a skill").last().fill("waitlist");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: /Skills for/ }).waitFor();
  await page.getByRole("link", { name: "acme/waitlist" }).click();

  // Read: what it runs comes before what it says.
  same(await page.locator("h1").innerText(), "acme/waitlist", "the heading");
  same(await page.locator(".tool .run").first().innerText(), "python3 handle.py --$operation $user", "a run line");
  const order = await page.locator("main h2").allInnerTexts();
  need(order.indexOf("What it can run") < order.indexOf("What it says"), `the order is ${order}`);
  await page.getByText("Prefer accepting users").waitFor();
  const address = page.locator(".provenance .digest").nth(1);
  same(await address.locator(".whole").isVisible(), false, "the whole address at first");
  await address.locator("summary").click();
  const whole = await address.locator(".whole").innerText();
  need(/^sha256:[0-9a-f]{64}$/.test(whole.replace(/\s/g, "")), `the address is ${whole}`);

  // Copy.
  const install = page.locator(".install");
  const copy = install.locator(".way.skillpkg > pre .copy");
  same(await copied(page, copy), `skillpkg install acme/waitlist --registry ${base}`, "what was copied");
  await install.locator("label[for=way-skills]").click();
  const skills = install.locator(".way.skills .copy");
  same(await copied(page, skills), `npx skills add ${base}/s/acme/waitlist`, "what was copied");
  same(await copy.isVisible(), false, "the line of another client");

  // Read a file in place, at a line.
  await page.locator(".files").getByRole("link", { name: "handle.sh" }).click();
  await page.goto(`${page.url()}#L3`);
  need((await page.locator("#L3").innerText()).length > 0, "line 3 is empty");

  // Compare.
  await page.goto(`${base}/skills/acme/waitlist`);
  await page.getByRole("link", { name: "changes of 2.0.0" }).click();
  const changes = page.locator(".changes");
  const removed = await changes.locator("del .run").first().innerText();
  const added = await changes.locator("ins .run").first().innerText();
  same(removed, "sh handle.sh --$operation $user", "what it ran");
  same(added, "python3 handle.py --$operation $user", "what it runs");
  need(await changes.getByText("python3", { exact: true }).count() > 0, "the new program is not told");
  need(await page.locator(".change del").count() > 0, "no word is marked as gone");
  await page.locator("select[name=from]").selectOption("2.0.0");
  await page.locator("select[name=to]").selectOption("1.0.0");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.waitForURL(/diff\/2\.0\.0\/1\.0\.0$/);

  // The log.
  await page.goto(`${base}/skills/acme/waitlist`);
  await page.locator(".provenance .leaf").click();
  await page.getByRole("heading", { name: "Check it by hand" }).waitFor();
  need((await page.locator(".script code").innerText()).includes("openssl pkeyutl -verify"), "no commands");

  await page.getByRole("link", { name: "skillpkg", exact: true }).click();
  await page.getByRole("heading", { name: "Published last" }).waitFor();
  await close();
  console.log(`first view: ${weight} bytes`);
});
