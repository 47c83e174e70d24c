// Pictures of every state, light and dark, into the folder that SHOTS names.
import { openBrowser, openPage, please, until } from './stage.mjs';

const { WEB_URL, VIEWER_KEY, OPERATOR_KEY, SHOTS } = process.env;
const address = (path) => `${WEB_URL}${path}#key=${encodeURIComponent(VIEWER_KEY)}`;
const browser = await openBrowser();

for (const colorScheme of ['light', 'dark']) {
  const desk = { colorScheme };
  const phone = { colorScheme, viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

  const shot = async (name, options, path, prepare = async () => undefined, after = async () => undefined) => {
    const { page, context } = await openPage(browser, path, options);
    await prepare(page);
    await page.waitForTimeout(800);
    await page.screenshot({ path: `${SHOTS}/${name}-${colorScheme}.png` });
    await context.close();
    await after();
  };
  const live = async (page) => {
    await until('the page is live', () => page.$('.live.on'));
    if ((await page.$('pm-live-grid')) !== null) {
      await until('rows come', () => page.textContent('.count'), (text) => text.endsWith('rows'));
    }
  };
  const points = async (page) => {
    await live(page);
    await page.click('header button[aria-controls=points]');
    await page.fill('#operator-key', OPERATOR_KEY);
    await page.click('text=Unlock');
    await page.click('.joins label:has-text("inner")');
    await page.click('text=See the plan');
    await until('the plan comes', () => page.$('pm-points-panel .card ol'));
  };

  await shot('key', desk, WEB_URL);
  await shot('joined', desk, address('/?sort=balance:desc'), live);
  await shot('filtered', desk, address('/?grid=users&filter=user+77'), live);
  await shot('viewer', desk, address('/'), async (page) => {
    await live(page);
    await page.keyboard.press('p');
  });
  await shot('points', desk, address('/'), points);
  await shot('refused', desk, address('/'), async (page) => {
    await points(page);
    await page.fill('#topic-users', 'no.such.topic');
    await page.keyboard.press('Escape');
    await page.click('text=See the plan');
    await until('it is refused', () => page.$('pm-points-panel .card.refusal'));
    await page.$eval('pm-points-panel .card.refusal', (card) => card.scrollIntoView({ block: 'center' }));
  });
  await shot('topics', desk, address('/'), async (page) => {
    await points(page);
    await page.focus('#topic-users');
  });
  await shot('activity', desk, address('/?grid=activity'), live);
  await shot('dead-letter', desk, address('/?grid=dead_letters'), async (page) => {
    await live(page);
    await until('letters come', () => page.$('.ag-row .ag-cell'));
    await page.dblclick('.ag-row .ag-cell');
  });
  await shot('help', desk, address('/'), async (page) => {
    await live(page);
    await page.keyboard.press('?');
  });
  await shot('switched', desk, address('/'), async (page) => {
    await live(page);
    await until('rows come', () => page.$('.ag-row .ag-cell'));
    await page.waitForTimeout(1500);
    await please('publish', { number: colorScheme === 'light' ? 2 : 1 });
    await until('a notice comes', () => page.$('.notice'));
  });
  await shot('embedded', desk, address('/embed/final_ui'), (page) => until('rows come', () => page.$('.ag-row .ag-cell')));
  await shot('phone', phone, address('/'), live);
  await shot('phone-points', phone, address('/'), points);
  await shot('phone-activity', phone, address('/?grid=activity'), live);
  await shot('stale', desk, address('/'), async (page) => {
    await live(page);
    await please('kill', { what: 'pipeline' });
    await until('the banner comes', () => page.$('.trouble'));
  }, () => please('revive', { what: 'pipeline' }));
}
await browser.close();
console.log(JSON.stringify({ wish: 'done' }));
process.exit(0);
