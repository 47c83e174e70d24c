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

/** The text of all that match, now; empty where nothing does. Playwright's own `textContent` would wait for it. */
export function textOf(page, selector) {
  return page.$$eval(selector, (elements) => elements.map(({ textContent }) => textContent.trim()).join(' '));
}

/** Expected while a server is down: the browser itself writes these, whatever a page does. */
const OF_THE_BROWSER = /net::ERR_|WebSocket connection to/;

/** Scrollbars take room, as on most desks, or lie over the page, as on others. */
export function openBrowser({ scrollbars = true } = {}) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
    ignoreDefaultArgs: scrollbars ? ['--hide-scrollbars'] : [],
  });
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

  /** Sets a column's filter as a person does: its menu, the kind of condition, the value. */
  async filter(name, choice, value) {
    await this.page.click(`.ag-header-cell[col-id="${name}"] .ag-header-cell-filter-button`);
    const menu = '.ag-filter';
    if ((await this.page.textContent(`${menu} .ag-picker-field-display >> nth=0`)) !== choice) {
      await this.page.click(`${menu} .ag-picker-field-wrapper >> nth=0`);
      await this.page.locator('.ag-select-list').getByText(choice, { exact: true }).click();
    }
    await this.page.fill(`${menu} .ag-filter-body input:visible >> nth=0`, value);
  }

  /** Ends the filter whose menu is open, and closes the menu. */
  async resetFilter() {
    await this.page.click('.ag-filter button:has-text("Reset")');
    await this.page.keyboard.press('Escape');
  }

  /** How much of the last column lies under the scrollbar, in pixels. */
  hiddenWidth() {
    return this.page.evaluate(() => {
      const right = Math.max(...[...document.querySelectorAll('.ag-header-cell')].map((cell) => cell.getBoundingClientRect().right));
      return Math.max(0, right - document.querySelector('.ag-body-vertical-scroll').getBoundingClientRect().left);
    });
  }

  scrollTop() {
    return this.page.$eval('.ag-grid-viewport', (viewport) => viewport.scrollTop);
  }

  scrollTo(top) {
    return this.page.$eval('.ag-grid-viewport', (viewport, y) => viewport.scrollTo(0, y), top);
  }
}
