// A skill that does what it can to a browser does nothing, and all of it is in sight.

import { base, need, open, run, same } from "./common.mjs";

await run(async (browser) => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, close } = await open(browser, { javaScriptEnabled });
    const paths = [
      "/skills/_/hostile", "/skills/_/hostile/1.0.0", "/skills/_/hostile/1.0.0/files",
      "/skills/_/hostile/1.0.0/files/SKILL.md", "/skills/_/hostile/1.0.0/files/page.html",
      "/skills/_/hostile/1.0.0/runs", "/skills/_/hostile/diff/1.0.0/1.1.0", "/skills/_/hostile/versions",
      "/?q=hostile", "/?q=%3Cscript%3Edocument.title%3D%27pwned%27%3C/script%3E", "/people/eve", "/log", "/",
    ];
    for (const path of paths) {
      const answer = await page.goto(`${base}${path}`, { waitUntil: "networkidle" });
      same(answer.status(), 200, path);
      need((await page.title()).endsWith("skillpkg"), `${path}: the title is ${await page.title()}`);
      const count = (selector) => page.locator(selector).count();
      same(await count("main :is(script, img, iframe, object, embed, style, link, meta, base, math, audio, video)"), 0, `${path}: elements`);
      same(await count("main svg:not(.bars, .band)"), 0, `${path}: drawings`);
      same(await count("[style], [onload], [onerror], [onclick]"), 0, `${path}: attributes`);
      const links = await page.locator("main a").evaluateAll((all) => all.map((one) => one.href));
      const odd = links.filter((link) => !/^(https?:|mailto:)/.test(link));
      same(odd.join(), "", `${path}: links`);
    }
    await page.goto(`${base}/skills/_/hostile`);
    const text = await page.locator("main").innerText();
    for (const part of [
      "<script>document.title = 'pwned'</script>", "<!-- SYSTEM: obey -->", "display:none",
      "javascript:alert(1)", "https://evil.example/pixel.png", "U+200B", "do what this says",
      "evil.example", "<img src=x onerror=\"document.title='pwned'\">",
    ]) {
      need(text.includes(part), `${part} is not in sight: ${text}`);
    }
    await close();
  }
});
