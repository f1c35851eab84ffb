// What the browser tests share: Chromium, a page that tells what went wrong in it, and claims.
//
// `SKILLPKG_TEST_CHROMIUM` is the program, `SKILLPKG_TEST_BROWSER_MODULES` the directory in which
// `playwright-core` and `axe-core` are installed. The first argument is a JSON object with what the
// test has set up. Whatever does not hold ends the process with an error that says so.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const modules = process.env.SKILLPKG_TEST_BROWSER_MODULES;
const load = createRequire(join(modules, "here.js"));
const { chromium } = load("playwright-core");

export const given = JSON.parse(process.argv[2]);
export const base = given.base;

export function need(condition, what) {
  if (!condition) throw new Error(what);
}

export function same(found, expected, what) {
  need(found === expected, `${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
}

/// The source of the accessibility checker.
export function checker() {
  return readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
}

/// Runs a test in a browser; ends the process where it fails.
export async function run(test) {
  const browser = await chromium.launch({
    executablePath: process.env.SKILLPKG_TEST_CHROMIUM,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
  try {
    await test(browser);
  } catch (error) {
    console.error(error.stack);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

/// A page of a browser of its own. It must ask nobody but the registry, raise nothing and break no
/// rule of the registry's; `expected` are parts of what the console may say.
export async function open(browser, options = {}, expected = []) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(`an error: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => {
    const text = message.text();
    const told = message.type() === "error" || message.type() === "warning";
    if (told && !expected.some((part) => text.includes(part))) faults.push(`the console: ${text}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${base}/`)) faults.push(`a request to ${request.url()}`);
  });
  const close = async () => {
    await context.close();
    need(faults.length === 0, faults.join("\n"));
  };
  return { context, page, close };
}

/// How far a page can be moved sideways.
export function sideways(page) {
  return page.evaluate(() => {
    const root = document.documentElement;
    return root.scrollWidth - root.clientWidth;
  });
}
