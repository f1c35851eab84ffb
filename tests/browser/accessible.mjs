// A checker of accessibility finds nothing serious on any page, in light and in dark, and no page
// moves sideways at the width of a phone.

import { base, checker, given, need, open, run, same, sideways } from "./common.mjs";

const source = checker();
const faults = [];

/// What the checker finds on each page of this colour scheme.
async function check(browser, colorScheme) {
  // The checker is no part of the page: it comes in by the debugger, where no policy holds.
  const { page, close } = await open(browser, { colorScheme, bypassCSP: true }, ["404"]);
  for (const path of given.paths) {
    await page.goto(`${base}${path}`);
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    await page.evaluate(source);
    const { violations, passes } = await page.evaluate(() => axe.run());
    need(passes.length > 10, `${path}: the checker looked at nothing`);
    for (const one of violations.filter(({ impact }) => ["serious", "critical"].includes(impact))) {
      const where = one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join("\n  ");
      faults.push(`${path} ${colorScheme}: ${one.id}: ${one.help}\n  ${where}`);
    }
  }
  await close();
}

/// Pages that move sideways at the width of a small phone.
async function fit(browser) {
  const { page, close } = await open(browser, { viewport: { width: 360, height: 760 } }, ["404"]);
  for (const path of given.paths) {
    await page.goto(`${base}${path}`);
    const over = await sideways(page);
    if (over > 0) faults.push(`${path} moves sideways by ${over}`);
  }
  await close();
}

await run(async (browser) => {
  await check(browser, "light");
  await check(browser, "dark");
  await fit(browser);
  same(faults.join("\n"), "", "what was found");
});
