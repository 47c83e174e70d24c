// The browser's side of an end-to-end test. The test that started us does what the browser cannot (publish a
// generation, kill a server): we print a line of JSON with the wish, it answers with a line when that is done.
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks the test for something and waits until it is done. */
export async function please(wish, details = {}) {
  console.log(JSON.stringify({ wish, ...details }));
  const { value, done } = await lines.next();
  if (done) {
    throw new Error(`the test ended before it did '${wish}'`);
  }
  return JSON.parse(value);
}

export function expect(holds, claim) {
  if (!holds) {
    throw new Error(`not so: ${claim}`);
  }
  console.error(`ok: ${claim}`);
}

/** Waits until `look` gives something that `holds`; the last answer is in the complaint otherwise. */
export async function until(claim, look, holds = Boolean, seconds = 30) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (holds(found)) {
      console.error(`ok: ${claim}`);
      return found;
    }
    if (Date.now() > deadline) {
      throw new Error(`not so within ${seconds} s: ${claim}; it is ${JSON.stringify(found)?.slice(0, 500)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Expected while a server is down: the browser itself writes these, whatever a page does. */
const OF_THE_BROWSER = /net::ERR_|WebSocket connection to/;

export async function openBrowser() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
    // With scrollbars hidden the grid leaves room for none, and then has one.
    ignoreDefaultArgs: ['--hide-scrollbars'],
  });
  return browser;
}

export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const errors = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !OF_THE_BROWSER.test(message.text())) {
      errors.push(message.text());
    }
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('dialog', (dialog) => {
    errors.push(`a dialog opened: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, errors, context };
}

export class Grid {
  constructor(page) {
    this.page = page;
  }

  /** The text of a column's cells on screen, from the top. */
  column(name) {
    return this.page.$$eval(
      `.ag-row .ag-cell[col-id="${name}"]`,
      (cells) =>
        cells
          .filter((cell) => cell.closest('.ag-row') !== null)
          .map((cell) => [Number(cell.closest('.ag-row').getAttribute('row-index')), cell.textContent])
          .sort((a, b) => a[0] - b[0])
          .map(([, text]) => text),
    );
  }

  /** The same, once every row has come and nothing moves any more. */
  async settled(name) {
    let last = '';
    return until(`${name} has settled`, () => this.column(name), (cells) => {
      const same = JSON.stringify(cells) === last;
      last = JSON.stringify(cells);
      return same && cells.length > 10 && cells.every(Boolean);
    });
  }

  count() {
    return this.page.textContent('.count');
  }

  async search(text) {
    await this.page.fill('.search input', text);
  }

  sort(name) {
    return this.page.click(`.ag-header-cell[col-id="${name}"] .ag-header-cell-text`);
  }

  scrollTop() {
    return this.page.$eval('.ag-grid-viewport', (viewport) => viewport.scrollTop);
  }

  scrollTo(top) {
    return this.page.$eval('.ag-grid-viewport', (viewport, y) => viewport.scrollTo(0, y), top);
  }
}
