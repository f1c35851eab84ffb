// What is private is hidden, shown to a member who signs in, and hidden again.

import { base, given, need, open, run, same } from "./common.mjs";

const secret = `${base}/skills/secret/plan`;

await run(async (browser) => {
  // The registry answers 404 and 403, which the console tells.
  const { context, page, close } = await open(browser, {}, ["404", "403"]);
  const status = async (url) => (await page.goto(url)).status();
  same(await status(secret), 404, "a private skill");
  const hidden = await page.locator("main").innerText();
  same(await status(`${base}/skills/absent/plan`), 404, "an absent skill");
  same(await page.locator("main").innerText(), hidden, "what is said of a private skill");
  same(await status(`${base}/scopes/secret`), 404, "a private scope");

  const signIn = async (token) => {
    await page.goto(`${base}/sign-in?to=/skills/secret/plan`);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await signIn("skp_0000");
  await page.getByRole("alert").waitFor();
  await signIn(given.token);
  await page.waitForURL(secret);
  same(await page.locator("h1").innerText(), "secret/plan", "the heading");
  await page.getByText("private", { exact: true }).first().waitFor();

  const [cookie] = (await context.cookies()).filter((one) => one.name === "skillpkg-session");
  need(cookie.httpOnly && cookie.sameSite === "Strict", `the cookie is ${JSON.stringify(cookie)}`);
  need(!cookie.value.includes(given.token) && !given.token.includes(cookie.value), "the cookie is the token");
  same(await page.evaluate(() => document.cookie), "", "what a script sees of the cookies");

  same(await status(`${base}/?q=plan`), 200, "a search");
  await page.getByRole("link", { name: "secret/plan" }).waitFor();
  same(await status(`${base}/skills/secret/plan/1.0.0/files/NOTES.md`), 200, "a file");
  // The cookie is no credential of the API.
  same(await status(`${base}/v1/skills/secret/plan`), 404, "the document");

  // A page of another site signs nobody out.
  const evil = await context.newPage();
  await evil.route("http://evil.example/**", (route) => route.fulfill({
    contentType: "text/html",
    body: `<form method="post" action="${base}/sign-out"><input name="form" value="x"></form><script>document.forms[0].submit()</script>`,
  }));
  const [answer] = await Promise.all([
    evil.waitForResponse((response) => response.url() === `${base}/sign-out`),
    evil.goto("http://evil.example/"),
  ]);
  same(answer.status(), 403, "a form of another site");
  await evil.close();
  same(await status(secret), 200, "the skill afterwards");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in" }).waitFor();
  same(await status(secret), 404, "the skill once signed out");
  await page.goBack();
  same(await page.getByText("secret/plan").count(), 0, "what going back shows");
  await close();
});
